// expect: failed guest_error
(async () => { throw new Error("lost"); })(); return 1;
