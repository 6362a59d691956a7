// expect: completed ["TypeError", "TypeError", "TypeError", "TypeError", "TypeError", "TypeError"]
// why: unknown paths and dot segments are rejected
const name = (p) => p.then(() => "ok", (e) => e.name);
return await Promise.all([API.list("../"), API.list("mcp/.."), API.list("./mcp"), API.read("mcp/../index.d.ts"), API.read("/etc/passwd"), API.list("..\\")].map(name));
