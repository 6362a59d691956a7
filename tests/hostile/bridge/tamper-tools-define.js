// expect: failed guest_error
Object.defineProperty(tools, "fresh", { value: 1 });
