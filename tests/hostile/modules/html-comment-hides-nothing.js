// expect: failed module_access_denied
<!-- comment
require("fs");
