// expect: failed guest_error
let ra, rb; const a = new Promise((r) => { ra = r; }), b = new Promise((r) => { rb = r; });
await Promise.all([a.then(() => rb()), b.then(() => ra())]);
