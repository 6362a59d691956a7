// expect: failed guest_error
// error: (2:8)
const a = 1;
return nope.x;
