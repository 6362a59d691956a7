// expect: failed typescript_transform_failed
}; const a: number = 1; {
