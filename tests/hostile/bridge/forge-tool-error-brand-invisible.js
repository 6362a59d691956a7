// expect: completed [[], ["code", "data", "message", "name", "retryable"]]
try { await tools.fail({}); } catch (e) { return [Object.getOwnPropertySymbols(e), Object.getOwnPropertyNames(e).filter((k) => k !== "stack").sort()]; }
