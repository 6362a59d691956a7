// expect: failed guest_error
const e = new SuppressedError(1, 2, "round"), all = new AggregateError([e, e, e, e]);
e.error = all; e.suppressed = e; e.cause = all; throw all;
