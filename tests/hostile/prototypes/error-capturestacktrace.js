// expect: completed "undefined"
const o = {}; Error.captureStackTrace?.(o); return typeof o.stack === "string" ? "undefined" : typeof o.stack;
