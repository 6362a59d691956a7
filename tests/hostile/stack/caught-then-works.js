// expect: completed [1, 2]
function f() { f(); } try { f(); } catch {} /* half-way */ return await tools.echo({ value: [1, 2] });
