// expect: failed timeout
// with: timeoutMs=100
for (let s = 0; ; ) switch (s) { case 0: s = 1; continue; case 1: s = 0; continue; }
