// expect: failed guest_error
const e = new AggregateError([1, 2]); e.errors = new Proxy([], { get() { for (;;); } }); throw e;
