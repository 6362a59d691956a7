// expect: failed guest_error
function* g() { yield* g(); } for (const x of g());
