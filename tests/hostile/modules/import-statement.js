// expect: failed module_access_denied
// calls: []
import fs from "fs"; await tools.echo({ value: 1 });
