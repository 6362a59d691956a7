// expect: completed 6
const a /* : string = */ : number = 6; return a;
