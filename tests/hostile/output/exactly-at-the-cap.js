// expect: completed null
// with: maxOutputBytes=1024
text("x".repeat(995)); 
