// expect: failed guest_error
globalThis.tools = {};
