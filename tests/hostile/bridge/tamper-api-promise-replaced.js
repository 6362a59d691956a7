// expect: completed [0,["TypeError",true]]
// why: a list can be awaited and a missing file rejects, whatever then and Promise have become
Promise.prototype.then = Promise.prototype.catch = () => { throw new Error("forged"); };
globalThis.Promise = function () { throw new Error("forged"); };
const list = await API.list();
let failed;
try { await API.read("nope"); } catch (e) { failed = [e.name, e.message.includes("API.list()")]; }
return [list.length, failed];
