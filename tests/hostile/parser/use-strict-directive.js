// expect: completed 1
"use strict"; return 1;
