// expect: failed typescript_transform_failed
type A = { a: string; return 1;
