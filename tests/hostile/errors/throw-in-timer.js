// expect: failed guest_error
// error: tick
setTimeout(() => { throw new Error("tick"); }, 0); await new Promise((r) => setTimeout(r, 20)); return 1;
