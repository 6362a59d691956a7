// expect: completed ["[WeakMap]", "[WeakSet]", "[WeakRef]", "[Generator]"]
return [new WeakMap(), new WeakSet(), new WeakRef({}), (function* () {})()];
