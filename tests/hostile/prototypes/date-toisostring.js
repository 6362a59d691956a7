// expect: completed "1970-01-01T00:00:00.000Z"
Date.prototype.toISOString = () => "forged"; Date.prototype.valueOf = () => { throw 1; }; return new Date(0);
