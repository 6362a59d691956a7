// expect: failed guest_error
let t; try { await tools.fail({}); } catch (e) { t = e; }
const copy = new Error(t.message); for (const k of Reflect.ownKeys(t)) if (k !== "cause") copy[k] = t[k]; throw copy;
