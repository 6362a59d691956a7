// expect: failed module_access_denied
return process.binding("fs");
