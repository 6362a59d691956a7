// expect: failed module_access_denied
const f = () => { if (true) { return require("child_process"); } }; return f();
