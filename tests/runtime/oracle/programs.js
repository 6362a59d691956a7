//--- microtasks, then and await interleave in the standard's order
const log = [];
Promise.resolve().then(() => log.push("a")).then(() => log.push("b"));
queueMicrotask(() => log.push("m"));
(async () => { log.push("s"); await null; log.push("t"); await null; log.push("u"); })();
log.push("sync");
await null; await null; await null; await null;
return log;
//--- a thenable is adopted with two extra ticks
const log = [];
const thenable = { then(done) { log.push("then"); done("v"); } };
const p = (async () => thenable)();
Promise.resolve().then(() => log.push(1)).then(() => log.push(2)).then(() => log.push(3)).then(() => log.push(4));
p.then((v) => log.push(v));
for (let i = 0; i < 8; i++) await null;
return log;
//--- finally keeps the value and order
const log = [];
const r = await Promise.reject(new Error("x")).finally(() => log.push("f")).catch((e) => e.message);
return [log, r, await Promise.resolve(1).finally(() => 2)];
//--- combinators
const slow = (v, n) => (n ? Promise.resolve().then(() => slow(v, n - 1)) : v);
const fail = (v, n) => slow(0, n).then(() => { throw new TypeError(v); });
return [
  await Promise.all([slow(1, 3), 2, slow(3, 1)]),
  await Promise.race([slow("late", 9), slow("early", 1)]),
  await Promise.any([fail("a", 1), slow("ok", 4)]),
  await Promise.any([fail("a", 2), fail("b", 1)]).catch((e) => [e.name, e.message, e.errors.map(String)]),
  await Promise.allSettled([slow(1, 1), fail("z", 1)]),
  await Promise.all([fail("first", 1), fail("second", 2)]).catch(String),
];
//--- async generators: order of next, return and throw
const log = [];
async function* g() { try { log.push(yield 1); log.push(yield 2); } catch (e) { log.push("c" + e); yield 9; } finally { log.push("f"); } }
const it = g();
const all = await Promise.all([it.next("a"), it.next("b"), it.throw("t"), it.return("r"), it.next()]);
return [all, log];
//--- for await over sync iterables closes them
const log = [];
const iterable = { [Symbol.iterator]() { return { n: 0, next() { return { value: Promise.resolve(this.n++), done: false }; }, return() { log.push("closed"); return {}; } }; } };
for await (const x of iterable) { log.push(x); if (x === 2) break; }
return log;
//--- await in every place of an expression
const v = (x) => Promise.resolve(x);
const o = { [await v("k")]: await v(1), ...(await v({ z: 2 })) };
const [a = await v(5), { b = await v(6) } = {}] = [undefined];
return [o, a, b, (await v(1)) + (await v(2)), `${await v("t")}`, [...(await v([1, 2]))], await v(1) ? await v("y") : 0,
  (await v({ f(x) { return x + this.q; }, q: 1 })).f(await v(3)), await v(null) ?? (await v("n")), await (await v(v(7)))];
//--- errors keep their class and cause through async frames
class Mine extends RangeError { name = "Mine"; }
const deep = async (n) => { if (!n) throw new Mine("bottom", { cause: "why" }); await null; return deep(n - 1); };
try { await deep(3); } catch (e) { return [e.name, e.message, e.cause, e instanceof RangeError, e instanceof Mine]; }
//--- destructuring evaluates in order
const log = [];
const p = (n, v) => { log.push(n); return v; };
const { [p("k1", "a")]: x = p("d1", 1), [p("k2", "b")]: y = p("d2", 2) } = p("src", { a: 5 });
return [log, x, y];
//--- generators delegate and clean up
const log = [];
function* inner() { try { yield "i1"; yield "i2"; } finally { log.push("inner closed"); } }
function* outer() { try { const r = yield* inner(); log.push(r); } finally { log.push("outer closed"); } }
for (const x of outer()) { log.push(x); break; }
return log;
//--- closures in loops, labelled breaks, switch fallthrough
const fs = []; const out = [];
for (let i = 0; i < 3; i++) fs.push(() => i++);
outer: for (const a of [1, 2, 3]) { for (const b of [1, 2, 3]) { if (b === 2) continue outer; if (a === 3) break outer; out.push([a, b]); } }
switch (2) { case 1: out.push("one"); case 2: out.push("two"); case 3: out.push("three"); break; default: out.push("never"); }
return [fs.map((f) => [f(), f()]), out];
//--- a word count as models write it
const words = "the quick brown fox jumps over the lazy dog the end".split(" ");
const counts = words.reduce((m, w) => m.set(w, (m.get(w) ?? 0) + 1), new Map());
return [...counts].sort(([a, x], [b, y]) => y - x || a.localeCompare(b)).slice(0, 3);
//--- a queue with limited concurrency
const log = []; let running = 0, peak = 0;
const work = async (n) => { running++; peak = Math.max(peak, running); for (let i = 0; i < n; i++) await null; running--; return n * n; };
const jobs = [5, 1, 4, 2, 3]; const results = [];
await Promise.all(Array.from({ length: 2 }, async () => { while (jobs.length) { const n = jobs.shift(); results.push(await work(n)); log.push(n); } }));
return [results, log, peak];
//--- memoised recursion with BigInt
const memo = new Map();
const fib = (n) => n < 2n ? n : memo.get(n) ?? (memo.set(n, fib(n - 1n) + fib(n - 2n)), memo.get(n));
return [fib(90n), memo.size];
//--- sorting is stable and comparator errors propagate
const items = Array.from({ length: 50 }, (_, i) => ({ k: i % 3, i }));
const sorted = items.sort((a, b) => a.k - b.k).map((x) => x.i);
let error; try { [3, 2, 1].sort(() => { throw new Error("cmp"); }); } catch (e) { error = e.message; }
return [sorted, error];
//--- getters, setters, inheritance, super
class A { static count = 0; #v; constructor(v) { this.#v = v; A.count++; } get v() { return this.#v; } set v(x) { this.#v = x; } toString() { return `A(${this.#v})`; } }
class B extends A { get v() { return super.v * 2; } set v(x) { super.v = x + 1; } toString() { return "B:" + super.toString(); } }
const b = new B(1); b.v = 10;
return [b.v, `${b}`, A.count, b instanceof A, Object.getOwnPropertyNames(b)];
//--- a parser: recursive descent over text
const parse = (s) => { let i = 0; const ws = () => { while (s[i] === " ") i++; };
  const expr = () => { let v = term(); for (ws(); s[i] === "+" || s[i] === "-"; ws()) v = s[i++] === "+" ? v + term() : v - term(); return v; };
  const term = () => { let v = factor(); for (ws(); s[i] === "*" || s[i] === "/"; ws()) v = s[i++] === "*" ? v * factor() : v / factor(); return v; };
  const factor = () => { ws(); if (s[i] === "(") { i++; const v = expr(); ws(); i++; return v; } if (s[i] === "-") { i++; return -factor(); } const m = /^[\d.]+/.exec(s.slice(i)); i += m[0].length; return +m[0]; };
  return expr(); };
return ["1 + 2 * 3", "(1+2)*3 - -4/2", "10/4", "-(2 + 3) * 2"].map(parse);
//--- proxies observe everything a spread and a delete do
const log = []; const p = new Proxy({ a: 1, b: 2 }, Object.fromEntries(["get", "set", "has", "deleteProperty", "ownKeys", "getOwnPropertyDescriptor", "defineProperty"].map((t) => [t, (...a) => { log.push(t + ":" + String(a[1] ?? "")); return Reflect[t](...a); }])));
const copy = { ...p }; delete p.a; p.c = 3; "b" in p; Object.keys(p); JSON.stringify(p);
return [copy, log];
//--- symbols steer conversions, iteration, instanceof and concat
const o = { [Symbol.toPrimitive](h) { return h === "number" ? 7 : h; }, *[Symbol.iterator]() { yield* [1, 2]; }, get [Symbol.toStringTag]() { return "Tag"; } };
class Even { static [Symbol.hasInstance](n) { return n % 2 === 0; } }
const spreadable = { length: 2, 0: "x", 1: "y", [Symbol.isConcatSpreadable]: true };
return [+o, `${o}`, o + "", [...o], Object.prototype.toString.call(o), 2 instanceof Even, [].concat(spreadable), "a-b".split({ [Symbol.split]: (s) => [s, "custom"] })];
//--- date arithmetic in UTC
const d = new Date(Date.UTC(2024, 0, 31)); const out = [];
for (let i = 0; i < 4; i++) { out.push(d.toISOString().slice(0, 10)); d.setUTCMonth(d.getUTCMonth() + 1); }
return [out, Math.round((Date.UTC(2025, 2, 1) - Date.UTC(2024, 2, 1)) / 864e5)];
//--- WeakRef, FinalizationRegistry and WeakSet exist and behave while referenced
const o = {}; const r = new WeakRef(o); const s = new WeakSet([o]); new FinalizationRegistry(() => 0).register(o, 1);
await null;
return [r.deref() === o, s.has(o), s.has({})];
//--- an uncaught error
const data = { items: [] };
return data.items[0].name;
//--- an uncaught error with a cause
try { JSON.parse("{"); } catch (e) { throw new Error("bad config", { cause: e }); }
//--- a thrown object
throw { code: 42 };
//--- Array.fromAsync and async iteration helpers
async function* g() { yield 1; yield Promise.resolve(2); }
return [await Array.fromAsync(g(), (x) => x * 2), await Array.fromAsync([Promise.resolve("a"), "b"])];
//--- explicit resource management disposes in reverse order
const log = [];
{ using a = { [Symbol.dispose]() { log.push("a"); } }; await using b = { async [Symbol.asyncDispose]() { await null; log.push("b"); } }; log.push("body"); }
return log;
//--- strings with every line terminator and escape
return ["a\u2028b\u2029c\rd\ne".split(/[\n\r\u2028\u2029]/), "tab\tnul\0".length].concat(String.raw`\u{zz}`);
//--- Object.defineProperty corner cases
const o = {}; Object.defineProperty(o, "x", { value: 1 }); const results = [];
for (const act of [() => { o.x = 2; }, () => delete o.x, () => Object.defineProperty(o, "x", { value: 2 }), () => Object.defineProperty(o, "x", { value: 1 })]) { try { results.push(show(act())); } catch (e) { results.push(e.name + ": " + e.message); } }
return [results, Object.getOwnPropertyDescriptors(o)];
//--- maps and sets that change while they are walked
const log = []; const map = new Map([["a", 1], ["b", 2], ["c", 3]]);
for (const [k, v] of map) { log.push([k, v]); if (k === "a") { map.delete("b"); map.set("d", 4); map.set("a", 9); } if (k === "d") map.delete("c"); if (log.length > 9) break; }
const set = new Set([1, 2, 3, 4]); set.forEach((x) => { log.push(x); set.delete(x); set.delete(x + 1); if (x < 20) set.add(x * 10); });
const one = set.values(), two = set.entries(); log.push(one.next(), two.next()); set.clear(); set.add("new"); log.push(one.next(), two.next(), one.next());
map.clear(); map.set("z", map); log.push([...map.keys()], map.size);
return log;
//--- keys that are equal, and keys that only look so
const zero = new Map([[-0, "zero"], [NaN, "nan"], [1n, "big"], [1, "one"], ["1", "text"], [2n ** 70n, "huge"], [1.5, "half"]]);
const key = {}, symbol = Symbol("s");
zero.set(key, "object").set(symbol, "symbol").set(null, "null").set(undefined, "undefined").set(true, "true");
return [[0, -0, 0 / 0, 1n, 1, "1", 2n ** 70n, 3 / 2, key, symbol, null, undefined, true, {}, Symbol("s"), 2n, 2n ** 70n + 1n, false, "", "true", 1e300].map((k) => zero.get(k)), Object.is([...zero.keys()][0], 0)];
//--- sets as operands of each other
const a = new Set([1, 2, 3, -0, NaN]), b = new Set([3, 0, NaN, "x"]); const like = { size: 2, has: (x) => x === 1, keys: () => [1, 7].values() };
return [a.union(b), a.intersection(b), b.intersection(a), a.difference(b), a.symmetricDifference(b), a.isSubsetOf(b), new Set([3]).isSubsetOf(a), a.isSupersetOf(new Set([2])), a.isDisjointFrom(new Set([8])), a.union(like), a.symmetricDifference(like), Map.groupBy([1, 2, 3, 4.5], (x) => x % 2)];
//--- tens of thousands of keys, added, deleted, found again in order
const map = new Map(); let state = 7; const next = () => (state = (state * 1103515245 + 12345) % 2147483648);
for (let i = 0; i < 40000; i++) { const n = next() % 9000; const k = n % 4 === 0 ? n : n % 4 === 1 ? "k" + n : n % 4 === 2 ? n / 8 : BigInt(n) << 40n; if (next() % 3) map.set(k, i); else map.delete(k); }
let hash = 0; for (const [k, v] of map) hash = (hash * 31 + String(k).length * 7 + v) % 1000000007;
return [map.size, hash, [...map.keys()].slice(-5), map.delete([...map.keys()][17]), map.size];
//--- every code unit in JSON, alone and beside others
let hash = 0; const mix = (text) => { for (let i = 0; i < text.length; i++) hash = (hash * 31 + text.charCodeAt(i)) % 1000000007; };
for (let c = 0; c < 65536; c++) { const s = String.fromCharCode(c); const j = JSON.stringify(s); mix(j); mix(JSON.stringify("a" + s + s + "b")); if (JSON.parse(j) !== s) return c; }
for (const s of ["\ud83d\ude00", "\ude00\ud83d", "x\ud83d", "\ud83d\ud83d\ude00y", '"\\/\b\f\n\r\t\u007f\u2028', "\u0100".repeat(50) + '"', "é" + "\n".repeat(40)]) mix(JSON.stringify({ [s]: s }));
return hash;
//--- what JSON.stringify asks for, and in which order
const log = []; const o = { n: [1, 2.5, -0, 1e21, 2 ** 31, -7, NaN, true, null, undefined, () => 1, Symbol.iterator], s: new String("s"), d: new Date(0), b: new Boolean(false), toJSON(k) { log.push(["toJSON", k]); return { ...this, toJSON: undefined, list: [{ toJSON: (k) => "at " + k }, { toJSON: (k) => k + typeof k }] }; } };
return [JSON.stringify(o), JSON.stringify(o, null, 2), JSON.stringify([[], {}, [[]], { a: [] }], null, "--"), JSON.stringify(o, ["s", "n", "list"]), JSON.stringify([1, [2, "x"]], (k, v) => { log.push([k, typeof k, v]); return v; }), JSON.stringify("a\u0001"), log];
//--- what JSON.parse makes of twins, indexes, __proto__ and long texts
const o = JSON.parse('{"b":1,"a":2,"b":3,"1":4,"0":5,"__proto__":[6],"":7,"\\u0061":8,"long \\"quoted\\" key":[[],{},[1,-0,0.5,1e3,-12345678901]]}');
return [o, Object.keys(o), Object.getPrototypeOf(o) === Object.prototype, JSON.parse('"' + "x".repeat(100) + 'é\\n\\ud83d\\ude00"'), JSON.parse("[1,[2,{\"k\":[3]}]]", (k, v) => (Array.isArray(v) ? v.concat(k) : v)), [...JSON.parse("[1,2,3]"), JSON.parse("[]").length]];
//--- what JSON.parse refuses
return ['"', '"abc', '"\\', '"\\x"', '"a\nb"', '"\t"', '"\\u12"', "[1,]", '{"a"}', '{"a":1,}', "{a:1}", "01", "1.", "-", "tru", "", "[1 2]", '"é', "\u00a01"].map((text) => { try { return JSON.parse(text); } catch (e) { return e.name + ": " + e.message; } });
