// expect: failed typescript_transform_failed
// the parser says of such a number that its error is nowhere
type T = -1X; return 1;
