// expect: failed guest_error
let n = 0; const a = [1, 2, 3]; Object.defineProperty(a, "length", { value: { valueOf: () => n++ } });
