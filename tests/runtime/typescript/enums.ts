//// numeric enum => [0,1,"A",{"0":"A","1":"B","A":0,"B":1}]
enum E { A, B }
out(E.A); out(E.B); out(E[0]); out(E);
//// enum with a start value => [{"5":"A","6":"B","A":5,"B":6}]
enum E { A = 5, B }
out(E);
//// string enum has no reverse mapping => [{"A":"a","B":"b"}]
enum E { A = "a", B = "b" }
out(E);
//// mixed enum => [{"0":"No","No":0,"Yes":"YES"}]
enum E { No = 0, Yes = "YES" }
out(E);
//// enum flags that name each other => [3,7]
enum Flags { None = 0, Read = 1 << 0, Write = 1 << 1, ReadWrite = Read | Write, All = Flags.ReadWrite | 4 }
out(Flags.ReadWrite); out(Flags.All);
//// negative and fractional values => [{"A":-1,"-1":"A","B":0.5,"0.5":"B"}]
enum E { A = -1, B = 0.5 }
out(E);
//// computed values => [{"3":"A","4":"B","A":3,"B":4}]
enum E { A = "abc".length, B = A + 1 }
out(E);
//// template value => [{"A":"x"}]
enum E { A = `x` }
out(E);
//// string concatenation => [{"A":"a","B":"ab"}]
enum E { A = "a", B = A + "b" }
out(E);
//// quoted names => [{"1":"b c","a-b":0,"b c":1}]
enum E { "a-b", 'b c' }
out({ ...E, 0: undefined });
//// reserved words as names => [[0,1,2]]
enum E { default, in, class }
out([E.default, E.in, E.class]);
//// const enum => [2]
const enum C { A = 1, B }
out(C.B);
//// trailing comma and comments => [1]
enum E {
  A, // first
  /* second */
  B, // last
}
out(E.B);
//// one member per line keeps lines => [[0,10,11]]
enum E
{
  A,
  B = 10,
  C
}
out([E.A, E.B, E.C]);
//// empty enum => [{}]
enum E {}
out(E);
//// merged enums => [{"0":"A","1":"B","A":0,"B":1}]
enum E { A }
enum E { B = 1 }
out(E);
//// enum in a block => [0,"undefined"]
{ enum Inner { A } out(Inner.A); }
out(typeof globalThis.Inner);
//// enum in a function => [1]
function f() { enum Local { A, B } return Local.B; }
out(f());
//// enum in a loop and a switch => [0,0]
for (const i of [1, 2]) { switch (i) { default: { enum L { A } out(L.A); } } }
//// member named like the enum => [0]
enum Color { Color, Red }
out(Color.Color);
//// enum member as a type => [true]
enum S { On = "on" }
interface Lamp { s: S.On }
const lamp: Lamp = { s: S.On };
out(lamp.s === S.On);
//// iterating an enum => [["A","B"]]
enum E { A, B }
out(Object.keys(E).filter((k) => isNaN(Number(k))));
//// enum used before its line in a function => [1]
const get = (): number => Late.B;
enum Late { A, B }
out(get());
//// statement without semicolon before an enum => [0]
const before = 1
enum E { A }
out(E.A)
//// brackets on the next line => [0,[1]]
enum E { A }
[1].forEach((x: number) => out(E.A))
out([1])
//// initialiser with a cast and a call => [2]
enum E { A = (1 as number) + Math.max(0, 1) }
out(E.A);
//// enum with a computed string name => [{"0":"x","x":0}]
enum E { ["x"] }
out(E);
//// function and shadowing inside an initialiser => [8]
enum E { A = 2, B = [1, 2].map((x: number) => x * A).reduce((p, q) => p + q) + A }
out(E.B);
//// names of our own in the program => [1,0]
const _cm1o = 1;
enum E { A }
out(_cm1o); out(E.A);
//// a merged enum names members of its earlier part => [2,7]
enum Merged1 { A = 1 }
enum Merged1 { B = A + 1, C = Merged1.A + 6 }
out(Merged1.B); out(Merged1.C);
//// a merged enum has a member's name outside of it too => [2,"outer"]
const A2: any = "outer";
enum Merged2 { A2 = 1 }
enum Merged2 { B = A2 + 1 }
out(Merged2.B); out(A2);
//// a member in quotes is named without them => [2,3]
enum InQuotes { 'c' = 2, "not one" = 3, d = c, e = d + 1 }
out(InQuotes.d); out(InQuotes.e);
//// a member that is undefined => [[[["A",null]],"A"]]
const o: any = {};
enum E { A = o.missing }
out([[["A", E.A ?? null]], (E as any)[undefined as any]]);
//// an enum behind a condition => [[0,"undefined"]]
const yes: boolean = [1].length === 1;
if (yes) enum A { B }
if (!yes) enum C { D }
out([A.B, typeof C]);
//// comments in all places of an enum => [[0,5,6]]
enum E { // head
  A /* a */, // after a
  B /* b */ = /* = */ 5 /* five */, // after b
  C // last
} // E
out([E.A, E.B, E.C]);
//// members of an earlier part by their bare names => [[1,3]]
enum E { A = 1 } enum E { B = A | 2 }
out([E.A, E.B]);
