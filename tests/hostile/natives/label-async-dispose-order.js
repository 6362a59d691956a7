// expect: completed ["b", "a"]
const out = []; { using a = { [Symbol.dispose]() { out.push("a"); } }, b = { [Symbol.dispose]() { out.push("b"); } }; } return out;
