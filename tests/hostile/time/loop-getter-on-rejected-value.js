// expect: failed timeout
// with: timeoutMs=100
Promise.reject({ get a() { for (;;); } }); return 1;
