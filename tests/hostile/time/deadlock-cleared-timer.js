// expect: failed guest_error
await new Promise((r) => { clearTimeout(setTimeout(r, 10)); });
