// expect: failed guest_error
// error: (1:16)
const s = "💥"; nope();
