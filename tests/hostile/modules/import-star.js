// expect: failed module_access_denied
import * as fs from "node:fs"; return fs;
