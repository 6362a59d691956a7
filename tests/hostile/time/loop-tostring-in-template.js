// expect: failed timeout
// with: timeoutMs=100
return `${{ toString() { for (;;); } }}`;
