// expect: failed memory_limit_exceeded
// with: memoryLimitBytes=8388608
let s = ""; const d = new TextDecoder(); for (;;) s += d.decode(new Uint8Array(100000), { stream: true }); 
