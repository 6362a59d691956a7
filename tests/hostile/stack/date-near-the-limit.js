// expect: completed null
// output: ["\"1970-01-01T00:00:00.000Z\"", "\"1970-01-01T00:00:00.000Z\"", "null"]
// why: a date is null where it is invalid, not where there is hardly any stack left
let n = 0; const date = new Date(0);
function f() { try { f(); } catch (e) { if (n < 2) try { text(date); n++; } catch {} throw e; } }
try { f(); } catch {}
text(new Date(NaN));
