// expect: failed timeout
// with: timeoutMs=100
return Array.prototype.reverse.call({ length: 2 ** 53 - 1 });
