// expect: completed "none"
let got = "none"; Error.prepareStackTrace = (e, frames) => { got = frames.map((f) => typeof f.getFunction?.()).join(); return ""; };
try { new URL("nope"); } catch (e) { e.stack; } return got;
