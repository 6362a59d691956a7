// expect: completed [true, true]
try { await tools.fail({}); } catch (e) { return [Object.getPrototypeOf(e) === Error.prototype, Object.getPrototypeOf(e.data) === Object.prototype]; }
