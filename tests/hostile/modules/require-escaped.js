// expect: failed guest_error
// why: the same name, written with an escape; the check is a help, and behind it there is nothing
return r\u0065quire("fs");
