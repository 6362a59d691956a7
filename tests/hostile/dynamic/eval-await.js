// expect: failed guest_error
eval("await 1; for (");
