// expect: failed guest_error
// error: ReferenceError
return new Function("return requ" + "ire('fs')")();
