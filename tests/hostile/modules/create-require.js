// expect: failed guest_error
return globalThis.module.createRequire("/")("fs");
