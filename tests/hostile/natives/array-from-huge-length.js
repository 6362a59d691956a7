// expect: failed guest_error
// error: RangeError
return Array.from({ length: 2 ** 53 - 1 }).length;
