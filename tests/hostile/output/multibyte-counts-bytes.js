// expect: failed output_limit_exceeded
// with: maxOutputBytes=1024
// why: 1025 bytes of UTF-8 and JSON, and 527 characters
text("é".repeat(498)); return "xy";
