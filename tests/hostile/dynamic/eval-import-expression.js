// expect: failed guest_error
// why: there is no loader behind the check
return await eval("im" + "port('fs')");
