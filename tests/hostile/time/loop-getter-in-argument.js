// expect: failed timeout
// with: timeoutMs=100
return await tools.echo({ get value() { for (;;); } });
