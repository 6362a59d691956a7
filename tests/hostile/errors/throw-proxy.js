// expect: failed guest_error
throw new Proxy(new Error("inner"), { get() { throw new Error("trap"); } });
