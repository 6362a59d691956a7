// expect: failed guest_error
// with: memoryLimitBytes=8388608
return new Uint8Array(-1).length;
