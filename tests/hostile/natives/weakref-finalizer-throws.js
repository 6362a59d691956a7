// expect: failed guest_error
// error: finalizer
// why: an exception that nothing takes is a failure, wherever it was thrown
const r = new FinalizationRegistry(() => { throw new Error("finalizer"); }); (() => { r.register({}, 1); })(); await tools.echo({ value: 1 }); return 1;
