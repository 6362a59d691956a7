// expect: failed guest_error
for (let i = 0; i < 5000; i++) Promise.reject(i); return 1;
