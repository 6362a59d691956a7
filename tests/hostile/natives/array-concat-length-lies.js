// expect: failed timeout
// with: timeoutMs=100
return [].concat({ length: 2 ** 53 - 1, [Symbol.isConcatSpreadable]: true }, [1]);
