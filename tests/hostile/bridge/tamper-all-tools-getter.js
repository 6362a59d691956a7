// expect: completed true
try { Object.defineProperty(globalThis, "ALL_TOOLS", { value: [] }); } catch {} return ALL_TOOLS.length > 0;
