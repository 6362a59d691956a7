// expect: failed guest_error
const f = () => Reflect.apply(f, null, []); f();
