// expect: failed guest_error
// error: plain
throw "plain";
