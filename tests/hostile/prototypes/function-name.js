// expect: completed "[Function f]"
function f() {} Object.defineProperty(Function.prototype, "name", { get: () => "forged" }); return f;
