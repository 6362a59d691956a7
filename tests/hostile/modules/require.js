// expect: failed module_access_denied
const fs = require("fs"); return fs;
