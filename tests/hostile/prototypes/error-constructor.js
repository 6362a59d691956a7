// expect: completed "refused"
globalThis.Error = class { constructor() { throw 1; } }; try { await tools.fail({}); } catch (e) { return e.message; }
