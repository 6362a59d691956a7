// expect: completed ["TypeError", 0]
const u = new Uint8Array(new ArrayBuffer(8).transferToImmutable());
let found = "filled"; try { crypto.getRandomValues(u); } catch (e) { found = e.name; }
return [found, u.filter((x) => x).length];
