// expect: completed ["function",0,true,0,"TypeError"]
// why: the function that awaiting calls needs no receiver, and cannot be led to another list
const list = API.list(), { then } = list;
const taken = await then.call({ files: [1] }, (found) => found.length);
const settled = await new Promise((done) => then(done)).then((found) => !("then" in found));
list.files.push(1);
list.files.length = 0;
let locked;
try { list.then = () => "forged"; } catch (e) { locked = e.name; }
return [typeof then, taken, settled, (await list).length, locked];
