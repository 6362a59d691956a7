// expect: failed module_access_denied
const fs = await import("fs"); return fs;
