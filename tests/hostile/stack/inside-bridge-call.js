// expect: completed "RangeError"
// why: a call made with hardly any stack left is sent whole or not at all
let r, n = 0; function f() { try { f(); } catch (e) { r ??= e.name; if (n++ < 10) try { tools.echo({ value: 1 }).catch(() => {}); } catch {} throw e; } }
try { f(); } catch {}
return r;
