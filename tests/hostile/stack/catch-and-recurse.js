// expect: failed timeout
// with: timeoutMs=100
function f() { try { f(); } catch { f(); } finally { f(); } } f();
