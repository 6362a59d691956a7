// expect: failed timeout
// with: timeoutMs=100
// why: Symbol.replace asks exec until it says null
const r = /a/g; r.exec = () => ({ index: 0, length: 1, 0: "" }); return "aaa".replace(r, "b");
