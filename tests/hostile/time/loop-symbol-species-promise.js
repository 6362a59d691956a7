// expect: failed timeout
// with: timeoutMs=100
class P extends Promise { static get [Symbol.species]() { for (;;); } } P.resolve(1).then(() => 1);
