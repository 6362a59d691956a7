// expect: completed [200001,"5ae 5ae 300 315"]
// why: the engine sorted the marks on one letter by insertion, which took minutes and polled nothing
const s = "a" + "\u0315\u0300\u05ae\u0301".repeat(50000);
/* half-way */
const n = s.normalize("NFD");
return [n.length, [1, 50000, 50001, 200000].map((i) => n.charCodeAt(i).toString(16)).join(" ")];
