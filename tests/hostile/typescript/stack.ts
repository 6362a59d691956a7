// expect: failed guest_error
function f<T>(x: T): T { return f(x); } return f<number>(1);
