// expect: failed guest_error
eval("im" + "port fs from 'fs'");
