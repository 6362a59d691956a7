// expect: failed nested_tool_failed
let e; await tools.fail({}).catch((x) => { e = x; }); setTimeout(() => { throw e; }, 0); await new Promise((r) => setTimeout(r, 20));
