// expect: failed module_access_denied
import fs = require("fs"); return fs;
