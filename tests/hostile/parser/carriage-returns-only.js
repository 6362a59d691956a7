// expect: failed guest_error
// with: escaped
// error: (3:1)
const a = 1;<U+000D>const b = 2;<U+000D>null.x;
