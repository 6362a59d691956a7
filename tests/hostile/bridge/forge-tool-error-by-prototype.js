// expect: failed guest_error
let t; try { await tools.fail({}); } catch (e) { t = e; } throw Object.create(t);
