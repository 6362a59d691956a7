// expect: completed true
const a = 4, g = 2, b = 1; return a / g / b === 2 as unknown as boolean | true;
