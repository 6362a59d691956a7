// expect: failed timeout
// with: timeoutMs=100
return Array.from({ length: 5000 }, (_, i) => i).sort((a, b) => { for (let i = 0; i < 1e6; i++); return b - a; }).length;
