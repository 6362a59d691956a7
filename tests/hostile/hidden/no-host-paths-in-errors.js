// expect: completed false
try { await tools.nasty({ kind: "raises" }); } catch (e) { return /srv|secret|Traceback|File "/.test(e.message + e.stack); }
