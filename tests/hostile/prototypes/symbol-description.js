// expect: completed "[Symbol a]"
Object.defineProperty(Symbol.prototype, "description", { get: () => "forged" }); Symbol.prototype.toString = () => "forged"; return Symbol("a");
