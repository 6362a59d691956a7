// expect: completed ["search", "describe", "call"]
// why: the API is no thenable, so it can be awaited and passed around
const t = await tools; return Object.keys(t).slice(0, 3);
