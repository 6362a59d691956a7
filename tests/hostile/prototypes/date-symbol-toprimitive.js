// expect: completed "1970-01-01T00:00:00.001Z"
delete Date.prototype[Symbol.toPrimitive]; delete Date.prototype.toJSON; return new Date(1);
