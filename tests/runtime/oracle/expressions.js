// One expression per line. Math functions that are not exactly rounded are left out: the C libraries differ.
1 + 1
0.1 + 0.2
1 / 3
-0
[0, -0, 1 / -0]
5e-324
1.7976931348623157e308 * 10
(123.456).toFixed(1)
(0.000001234).toString()
(1e21).toString()
(1e-7).toString()
(255).toString(16)
(255.5).toString(2)
(-255.125).toString(36)
(1234.5678).toExponential(2)
(1234.5678).toPrecision(6)
(0.1).toString(3)
(1.005).toFixed(2)
(25).toFixed(20)
(1).toFixed(101)
(1).toString(1)
Number("0x1f")
Number(" 12 ")
Number("1_000")
Number("")
Number("1e1000")
parseInt("12px")
parseInt("0b11", 2)
parseInt("zz", 36)
parseFloat("3.14abc")
parseFloat(".5.5")
Number.MAX_SAFE_INTEGER + 2
Number.EPSILON > 0
Number.isInteger(5.0)
1_000_000
0o17 + 0b11 + 0xff
2 ** 53 + 1
2 ** -1074
(-8) ** (1 / 3)
7 % -3
-7 % 3
5.5 % 2
-1 >>> 0
1 << 31
2 ** 32 >> 0
~~3.7
~-1
NaN === NaN
Object.is(NaN, NaN)
Math.max()
Math.min()
Math.max(1, NaN)
Math.round(-0.5)
Math.round(2.5)
Math.round(1.4999999999999999)
Math.sign(-3)
Math.trunc(-0.9)
Math.hypot(3, 4)
Math.fround(5.05)
Math.clz32(1)
Math.imul(0xffffffff, 5)
Math.sqrt(2)
Math.abs(-5)
10n ** 30n
-7n / 2n
-7n % 2n
2n ** 100n >> 90n
BigInt("0xff")
BigInt(1e21)
BigInt(1.5)
BigInt("1.5")
1n + 1
1n < 2
1n == 1
typeof 1n
BigInt.asIntN(8, 255n)
BigInt.asUintN(8, -1n)
(123456789012345678901234567890n).toString(36)
-(-(5n))
+1n
5n & 3n | 8n
~5n
"abc".at(-1)
"abc".substring(2, 0)
"abc".substr(-2, 1)
"abc".slice(-2)
"aXbX".replace("X", "-")
"aXbX".replaceAll("X", "$&$&")
"x".padStart(5, "ab")
"x".padEnd(5, "ab")
"  a ".trim() + "|"
"a,b,,c".split(",")
"abc".split("")
"a1b2".split(/\d/)
"a1b2".split(/(\d)/, 3)
"ß".toUpperCase()
"İ".toLowerCase()
"ﬁ".toUpperCase()
"é".normalize("NFD").length
"é".normalize("NFC").length
"a".localeCompare("b")
"😀".length
[..."😀a"]
"😀".codePointAt(0)
"😀".charCodeAt(1)
String.fromCodePoint(128512, 65)
String.fromCodePoint(-1)
"\ud800".isWellFormed()
"\ud800".toWellFormed()
"abc".includes("bc", 1)
"abcabc".lastIndexOf("c", 4)
"abc".startsWith("b", 1)
"ab".repeat(3)
"ab".repeat(-1)
"a\u2028b".length
String.raw`a\n${1}`
`a${1}${"b"}${[1, 2]}`
((s, ...v) => [s.raw, s, v])`x${1}\ty${2}`
"abc" < "abd"
"10" < "9"
"10" < 9
"b" + "a" + +"a" + "a"
encodeURIComponent("é &/")
encodeURI("é &/")
decodeURIComponent("%C3%A9")
decodeURIComponent("%C3")
encodeURIComponent("\ud800")
escape("é€")
unescape("%u20AC")
"abc".concat(1, null)
"aaa".search(/b/)
"abc".match(/b/)
"a1b22".match(/\d+/g)
[..."a1b22".matchAll(/(\d)+/g)].map((m) => [m[0], m.index])
"2024-01-31".replace(/(\d+)-(\d+)-(\d+)/, "$3/$2/$1")
"john smith".replace(/(?<first>\w+) (?<last>\w+)/, "$<last> $<first>")
"abc".replace(/b/, (m, i, s) => `[${m}${i}${s}]`)
/a.c/s.test("a\nc")
/^b/m.test("a\nb")
/\bfoo\b/.test("a foo b")
/(?<=\$)\d+/.exec("cost $42")[0]
/(?<!\$)\b\d+/.exec("$42 17")[0]
/(?=a)b/.test("ab")
/\u{1F600}/u.test("😀")
/\p{Lu}/u.test("É")
/\p{Script=Greek}/u.test("α")
/^\p{Emoji}$/v.test("😀")
/[\p{L}--[a-z]]/v.test("a")
/(a)|(b)/.exec("b")
/(?:)/.source
/[/]\/+/.source
new RegExp("/").source
/a/dgimsuy.flags
/a/gi.toString()
new RegExp("[")
new RegExp("a", "zz")
/(\w+)\s\1/.test("hello hello")
/a{2,3}?/.exec("aaaa")[0]
/x*/y.exec("yx")
((r) => [r.exec("aXbX"), r.lastIndex, r.exec("aXbX"), r.lastIndex, r.exec("aXbX"), r.lastIndex])(/X/g)
/(?<year>\d{4})/.exec("in 2024").groups.year
/a/d.exec("ba").indices[0]
/\cJ/.test("\n")
/[^]/.test("\n")
/(z)((a+)?(b+)?(c))*/.exec("zaacbbbcac")
"aBc".replace(/[A-Z]/g, (c) => "_" + c.toLowerCase())
RegExp.prototype.toString.call(/a/)
[3, 1, 2].sort()
[10, 9, 1].sort()
[3, undefined, 1, , 2].sort()
[..."cab"].sort().reverse()
[3, 1, 2].toSorted((a, b) => b - a)
[1, 2, 3].toReversed()
[1, 2, 3].with(1, 9)
[1, 2, 3].with(5, 9)
[1, 2, 3, 4].toSpliced(1, 2, "x")
[1, 2, 3].at(-4)
[1, [2, [3, [4]]]].flat(Infinity)
[1, 2].flatMap((x) => [x, x * 2])
[1, 2, 3].reduce((a, b) => a + b)
[].reduce((a, b) => a)
[1, 2, 3].reduceRight((a, b) => a + "-" + b)
[1, 2, 3, 4].findLast((x) => x % 2)
[1, 2, 3].indexOf(NaN)
[NaN].includes(NaN)
[1, 2, 3].copyWithin(0, 1)
[1, 2, 3].fill(0, 1)
Array.from({ length: 3 }, (_, i) => i * i)
Array.from("a😀")
Array.of(7, 8)
new Array(3)
new Array(-1)
[, 1, , 2]
[, 1].length
Object.keys([, 1])
[1, 2, 3].join("-")
[null, undefined, 1].join()
[[1, 2], [3]].toString()
[1, 2, 3].entries().next()
[...[1, 2].keys()]
[1, 2, 3].lastIndexOf(3)
[5, 1].concat(2, [3, [4]])
[1, 2, 3].splice(1, 1)
((a) => { a.length = 1; return a; })([1, 2, 3])
((a) => { a[5] = 1; return a.length; })([])
[3, 2, 1].every((x) => x > 0) && [1].some((x) => x > 1)
[["b", 1], ["a", 2]].sort()
[1, 2, 3, 4, 5].slice(-3, -1)
Array.isArray(new Proxy([], {}))
[..."ab"].map((c, i, all) => c + i + all.length)
Object.groupBy([1, 2, 3], (x) => (x % 2 ? "odd" : "even"))
Map.groupBy([1, 2, 3], (x) => x % 2)
Object.fromEntries([["a", 1], ["b", 2]])
Object.entries({ b: 1, a: 2, 1: 3 })
Object.assign({}, null, { a: 1 }, "xy")
{ __proto__: null }
({ __proto__: { x: 1 } }).x
({ ["__proto__"]: 1 })
JSON.parse('{"__proto__": 1}')
Object.getOwnPropertyDescriptor({ get a() { return 1; } }, "a")
Object.getOwnPropertyNames("ab")
Object.is(0, -0)
({ a: 1, ...{ b: 2 }, ...null, ..."xy" })
(({ a, ...rest }) => rest)({ a: 1, b: 2, c: 3 })
(([a, , b = 5, ...c]) => [a, b, c])([1, 2, undefined, 4, 5])
(({ a: { b: [c] } }) => c)({ a: { b: [7] } })
((a, b = a, c = b * 2) => [a, b, c])(1)
((...args) => args.length)(1, 2, 3)
(function () { return arguments.length; })(1, 2)
(function f() { return typeof f; })()
(() => { try { return 1; } finally { return 2; } })()
(() => { for (const x of [1, 2]) { try { continue; } finally { if (x === 2) return "done"; } } })()
(() => { a: { b: { break a; } return 1; } return 2; })()
(() => { let s = ""; for (let i = 0, f = []; i < 3; i++) { f.push(() => i); if (i === 2) s = f.map((g) => g()).join(); } return s; })()
(() => { switch (3) { case 1: return 1; default: return "d"; case 2: return 2; } })()
(() => { var x = 1; { let x = 2; } return x; })()
(() => { x; let x = 1; })()
(() => { const c = 1; c = 2; })()
(() => { undefinedName; })()
(() => { null.x; })()
(() => { undefined.x.y; })()
(() => { ({}).x.y; })()
(() => { (void 0)(); })()
(() => { const o = {}; o.f(); })()
(() => { new (() => {})(); })()
(() => { [].x.y(); })()
(() => { Symbol() + ""; })()
(() => { new Proxy({}, null); })()
(() => { Object.freeze([1]).push(2); })()
(() => { "use strict"; Object.freeze({ a: 1 }).a = 2; })()
(() => { throw new TypeError("mine", { cause: 5 }); })()
(() => { class A { constructor() { this.x; } } A(); })()
(() => { class A { #x; static t(o) { return o.#x; } } return A.t({}); })()
(() => { class A {} class B extends A { constructor() { } } new B(); })()
(() => { for (const x of 5) ; })()
(() => { const [a] = null; })()
(() => { const { a } = undefined; })()
(() => { JSON.parse("{bad"); })()
(() => { JSON.parse('{"a":1,}'); })()
(() => { const a = []; a.a = a; JSON.stringify(a); })()
(() => { decodeURI("%"); })()
(() => { "x".repeat(Infinity); })()
(() => { (1).toString(37); })()
(() => { BigInt("x"); })()
(() => { structuredNothing(); })()
(() => { ({}) instanceof 5; })()
(() => { "a" in "b"; })()
(() => { Reflect.construct(1); })()
(() => { new Date(NaN).toISOString(); })()
(() => { Symbol.keyFor("x"); })()
(() => { delete Object.freeze({ a: 1 }).a; })()
null ?? "d"
0 || "d"
"" ?? "d"
null?.x
undefined?.[0]?.y.z
((o) => o?.f?.(1))({ f: (x) => x + 1 })
((o) => { o.a ??= 5; o.b ||= 6; o.c &&= 7; return o; })({ b: 0, c: 1 })
typeof undeclared
typeof null
typeof function () {}
void 0
(1, 2)
[] + {}
[] == false
null == undefined
null >= 0
undefined == 0
"1" == 1
({}) == "[object Object]"
[1] == 1
!!"0"
+[]
+{}
+"1e3"
-"5"
"5" * "2"
"5" + 2
true + true
[1, 2] + [3]
new Date(0) + 0 === new Date(0).toString() + "0"
JSON.stringify({ a: [1, { b: 2 }], c: undefined, d: () => 1, e: NaN, f: null })
JSON.stringify([undefined, Symbol(), () => 1])
JSON.stringify({ a: 1, b: [1, 2] }, null, 2)
JSON.stringify({ a: 1, b: 2 }, ["b"])
JSON.stringify({ a: 1 }, (k, v) => (k ? v + 1 : v))
JSON.stringify("\ud800\u2028\"")
JSON.stringify({ toJSON() { return "x"; } })
JSON.stringify(new Date(0))
JSON.stringify(Object("s"))
JSON.stringify(1n)
JSON.parse("[1,2,{\"a\":null}]", (k, v) => (Array.isArray(v) ? v.length : v))
JSON.parse("1e5")
JSON.parse(" [ ] ")
JSON.rawJSON ? "raw" : "none"
new Date(0).toISOString()
new Date(Date.UTC(2024, 1, 29)).toISOString()
new Date("2024-02-30").getTime()
new Date("2024-02-29T12:00:00+02:00").toISOString()
new Date("2024-01").toISOString()
new Date(8.64e15 + 1).getTime()
Date.parse("2024-01-01T00:00:00.123456Z")
Date.parse("nonsense")
new Date(2e12).getUTCDay()
new Date(Date.UTC(99, 0)).getUTCFullYear()
((d) => (d.setUTCMonth(13), d.toISOString()))(new Date(0))
new Date(-1).toISOString()
new Date(-62198755200000).toISOString()
new Date(NaN).toJSON()
new Map([[NaN, 1], [0, 2]]).get(-0)
[...new Set([1, 1, NaN, NaN, 0, -0])]
new Set([1, 2, 3]).union(new Set([4]))
new Set([1, 2, 3]).intersection(new Set([2, 3, 9]))
new Set([1, 2]).isSubsetOf(new Set([1, 2, 3]))
new Set([1, 2]).symmetricDifference(new Set([2, 3]))
((m) => { m.set("a", 1).delete("a"); return m.size; })(new Map())
((m) => { const seen = []; for (const [k] of m) { seen.push(k); if (k < 3) m.set(k + 1, 1); m.delete(k); } return seen; })(new Map([[1, 1]]))
new WeakMap([[{}, 1]]) instanceof WeakMap
new WeakMap([[1, 1]])
Symbol("a").description
Symbol.for("x") === Symbol.for("x")
Symbol.iterator.toString()
Object(Symbol.iterator) == Symbol.iterator
((o) => Reflect.ownKeys(o))({ b: 1, 2: 1, [Symbol.for("s")]: 1, 1: 1 })
Reflect.has({ a: 1 }, "a")
Reflect.getPrototypeOf([]) === Array.prototype
Reflect.apply(Math.max, null, [1, 3])
new Proxy({}, { get: (t, k) => k })["x"]
"a" in new Proxy({}, { has: () => true })
Object.keys(new Proxy({ a: 1, b: 2 }, { ownKeys: () => ["b"] }))
delete new Proxy({}, { deleteProperty: () => true }).x
new Proxy(function () {}, { apply: (t, s, a) => a.length })(1, 2)
new (new Proxy(class {}, { construct: () => ({ made: 1 }) }))()
(() => { const log = []; new Proxy([], { set(t, k, v) { log.push(k); t[k] = v; return true; } }).push(1); return log; })()
[...(function* () { yield 1; const x = yield* [2, 3]; return 4; })()]
((g) => [g.next(), g.throw(5)])((function* () { try { yield 1; } catch (e) { yield e; } })())
((g) => [g.next(), g.return(7), g.next()])((function* () { try { yield 1; } finally { yield "f"; } })())
[...Iterator.from([1, 2, 3, 4]).filter((x) => x % 2).map((x) => x * 10)]
Iterator.from([1, 2, 3]).drop(1).take(1).toArray()
[..."ab"].values().reduce((a, b) => a + b)
Array.from((function* () { for (let i = 0; i < 3; i++) yield i; })(), (x) => x * 2)
(() => { class A { #x = 1; get x() { return this.#x; } set x(v) { this.#x = v * 2; } } const a = new A(); a.x = 5; return a.x; })()
(() => { class A { static #count = 0; static make() { return ++A.#count; } } A.make(); return A.make(); })()
(() => { class A { x = this.constructor.name; static { this.y = 1; } } return [new A().x, A.y]; })()
(() => { class A { f() { return "A"; } } class B extends A { f() { return super.f() + "B"; } } return new B().f(); })()
(() => { class A { static s() { return this.name; } } class B extends A {} return B.s(); })()
(() => { class A { ["a" + 1] = 2; *g() { yield 1; } async m() {} } const a = new A(); return [a.a1, [...a.g()], a.m() instanceof Promise]; })()
(() => { class A extends Array { sum() { return this.reduce((a, b) => a + b, 0); } } return A.from([1, 2, 3]).map((x) => x * 2).sum(); })()
(() => { class E extends Error { constructor(m) { super(m); this.name = "E"; } } return String(new E("m")); })()
(() => { const o = { get a() { return 1; }, set a(v) {}, b() { return this.a; }, ["c"]: 3 }; return [o.b(), o.c]; })()
(() => { class A { static accessor = 1; get = 2; set = 3; static async = 4; } return [A.accessor, new A().get, A.async]; })()
(() => { const f = function () {}; return [f.name, (() => {}).name, (class {}).name, f.length]; })()
(() => { function Old(x) { this.x = x; } Old.prototype.get = function () { return this.x; }; return new Old(3).get(); })()
(function () { return new.target === undefined; })()
new Uint8Array([1, 256, -1, 1.9])
new Uint8ClampedArray([300, -5, 1.5, 2.5])
new Int16Array([40000])
new Float32Array([0.1])
new BigInt64Array([2n ** 63n])
new Float64Array(new Uint8Array([1, 2]))
Uint8Array.from("123")
new Uint8Array([3, 1, 2]).sort().toReversed()
new Uint8Array(new ArrayBuffer(8), 2, 3).length
new Uint8Array(-1)
new DataView(new ArrayBuffer(4)).getInt32(1)
((b) => { new DataView(b).setFloat64(0, Math.PI); return new Uint8Array(b); })(new ArrayBuffer(8))
((b) => { new DataView(b).setInt16(0, 258, true); return new Uint8Array(b); })(new ArrayBuffer(2))
new ArrayBuffer(8).slice(2, 6).byteLength
new Uint8Array([1, 2, 3]).subarray(1).with(0, 9)
Object.prototype.toString.call([])
Object.prototype.toString.call(null)
Object.prototype.toString.call(new Date(0))
Object.prototype.toString.call((function* () {})())
String(Symbol.toPrimitive in Date.prototype)
`${{ [Symbol.toPrimitive]: (hint) => hint }}`
+{ valueOf: () => 42 }
`${{ toString: () => "s", valueOf: () => 1 }}`
[1, 2, 3].toString === Array.prototype.toString
(function () { "use strict"; return this; })()
isNaN("x") && !Number.isNaN("x")
isFinite("12")
new Function("a", "b", "return a + b")(1, 2)
new Function("a, b", "return a * b").toString()
eval("var q = 1; q + 1")
(() => 1).toString()
(function named(a, b = 1) { /* c */ }).toString()
Math.max.toString()
Error("no new").message
new AggregateError([1], "m").errors
new Error("a", { cause: "c" }).cause
Object.getOwnPropertyNames(new Error("x"))
Error.prototype.toString.call({ name: "N", message: "M" })
Promise.resolve(1) instanceof Promise
Object.getOwnPropertyNames(class { static x = 1; })
Object.getOwnPropertyNames(function () {})
[].concat.length
"length" in []
Number("１")
"\u{10FFFF}".length
"a\
b"
0.1 * 3
9007199254740993
1e300 * 1e10
4.35 * 100
1.1 + 2.2
(0.1).toFixed(20)
123456789.123456789
1 / 7
5 / 0
