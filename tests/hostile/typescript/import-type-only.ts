// expect: failed module_access_denied
import type { A } from "a"; return 1;
