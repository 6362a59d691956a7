// expect: failed guest_error
// with: memoryLimitBytes=8388608
return new Float64Array(5e8).length;
