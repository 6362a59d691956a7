// expect: completed "import fs from 'fs'; require('x')"
return "import fs from 'fs'; require('x')";
