// expect: failed guest_error
setTimeout("globalThis.x = 1");
