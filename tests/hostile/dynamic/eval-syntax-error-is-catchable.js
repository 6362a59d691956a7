// expect: completed "SyntaxError"
try { eval("(("); } catch (e) { return e.name; }
