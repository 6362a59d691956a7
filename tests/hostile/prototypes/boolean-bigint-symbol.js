// expect: completed [true, "12"]
Boolean.prototype.toJSON = BigInt.prototype.toJSON = Symbol.prototype.toJSON = () => "forged"; return [true, 12n];
