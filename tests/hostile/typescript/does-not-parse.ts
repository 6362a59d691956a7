// expect: failed typescript_transform_failed
const a: = 1; return a;
