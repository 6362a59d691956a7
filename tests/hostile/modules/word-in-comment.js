// expect: completed 1
// import fs from "fs"
/* require("fs"); export default 1; import.meta */ return 1;
