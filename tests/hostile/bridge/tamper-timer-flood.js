// expect: failed guest_error
// error: 1000 timers
for (let i = 0; i < 1001; i++) setTimeout(() => {}, 1000);
