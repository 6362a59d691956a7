// expect: failed guest_error
setTimeout(() => { throw null; }, 0); await new Promise((r) => setTimeout(r, 20)); return 1;
