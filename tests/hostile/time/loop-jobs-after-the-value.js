// expect: failed timeout
// with: timeoutMs=300
return { get a() { const again = () => queueMicrotask(again); again(); return 1; } };
