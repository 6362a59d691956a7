// expect: completed "x-1"
type T = `x-${number}`; const t: T = `x-${1}`; return t;
