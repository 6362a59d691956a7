// expect: failed guest_error
// error: (2:
interface A { x: number }
(undefined as unknown as A).x;
