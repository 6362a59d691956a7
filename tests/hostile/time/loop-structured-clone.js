// expect: failed timeout
// with: timeoutMs=100
structuredClone({ get a() { for (;;); } });
