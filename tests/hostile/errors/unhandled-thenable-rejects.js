// expect: failed guest_error
(async () => { await { then(_, no) { no(new Error("thenable")); } }; })(); return 1;
