// expect: failed guest_error
const c = () => [2, 1].sort(c) && 0; [2, 1].sort(c);
