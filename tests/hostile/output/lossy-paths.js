// expect: completed
// why: keys count once in the value, and once for each loss in the list of losses
const root = {}; let o = root; const key = "k".repeat(195);
for (let i = 0; i < 190; i++) o = o[key + i] = {};
for (let i = 0; i < 100; i++) o["n" + i] = NaN;
return root;
