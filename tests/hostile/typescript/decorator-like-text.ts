// expect: completed "@x"
const s: string = "@x"; return s;
