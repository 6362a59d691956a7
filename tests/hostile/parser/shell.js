// expect: failed invalid_input
// with: straight
ls -la && cat /etc/passwd
