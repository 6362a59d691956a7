// expect: failed guest_error
const f = () => "a".replace(/a/, f); f();
