// expect: failed output_limit_exceeded
// with: maxOutputBytes=4096
// why: what a getter writes while a long item is made counts before the item does
for (;;) json({ get a() { text("x".repeat(3000)); return "y".repeat(1e5); } });
