// expect: completed ["TypeError", "TypeError", "TypeError"]
const name = (f) => { try { return f().then(() => "ok", (e) => e.name); } catch (e) { return e.name; } };
return await Promise.all([() => API.read(), () => API.read({}), () => API.list(5)].map(name));
