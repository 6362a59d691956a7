// expect: failed guest_error
// with: memoryLimitBytes=8388608
return (2n ** 100000000n).toString(2).length;
