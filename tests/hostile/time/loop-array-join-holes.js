// expect: failed timeout
// with: timeoutMs=100
return [].concat(new Array(2 ** 32 - 1)).join("").length;
