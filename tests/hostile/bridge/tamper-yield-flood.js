// expect: failed guest_error
// why: a thousand at once is the cap
for (let i = 0; i < 1001; i++) yield_control();
