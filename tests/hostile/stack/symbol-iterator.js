// expect: failed guest_error
const o = { [Symbol.iterator]() { return [...this]; } }; return [...o];
