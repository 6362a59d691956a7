// expect: failed output_limit_exceeded
// with: maxOutputBytes=1024
for (;;) json({});
