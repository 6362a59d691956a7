// expect: failed module_access_denied
// calls: []
// why: rejected before anything runs
await tools.echo({ value: 1 }); require("fs");
