//// namespace with values => [1,2,"c"]
namespace N { export const a = 1; export function f(): number { return 2; } export class C { c = "c"; } const hidden = 3; }
out(N.a); out(N.f()); out(new N.C().c);
//// hidden members stay hidden => [["a"]]
namespace N { const secret = 1; export const a = secret; }
out(Object.keys(N));
//// type-only namespace vanishes => ["undefined"]
namespace T { export interface A { x: number } export type B = A; namespace Inner { type C = 1 } }
let x: T.A = { x: 1 };
out(typeof globalThis.T);
//// nested namespaces => [1]
namespace A { export namespace B { export const c = 1; } }
out(A.B.c);
//// dotted name => [1]
namespace A.B.C { export const d = 1; }
out(A.B.C.d);
//// merged dotted names => [{"B":{"c":1,"d":2},"E":{"f":3}}]
namespace A.B { export const c = 1; }
namespace A.B { export const d = 2; }
namespace A.E { export const f = 3; }
out(A);
//// merged namespaces => [{"a":1,"b":2}]
namespace N { export const a = 1; }
namespace N { export const b = N.a + 1; }
out(N);
//// the module keyword => [1]
module M { export const a = 1; }
out(M.a);
//// namespace merged with a function => [1,2]
function fn() { return 1; }
namespace fn { export const extra = 2; }
out(fn()); out(fn.extra);
//// namespace merged with a class => [2]
class K { static s = 1 }
namespace K { export const extra = 2; }
out(K.extra);
//// namespace merged with an enum => [0,"A!"]
enum Color { A }
namespace Color { export function label(c: Color): string { return Color[c] + "!"; } }
out(Color.A); out(Color.label(0));
//// exported enum in a namespace => [{"0":"A","A":0}]
namespace N { export enum E { A } }
out(N.E);
//// exported let stays live => [0,1,5]
namespace Counter { export let count = 0; export function inc() { count++; } }
out(Counter.count); Counter.inc(); out(Counter.count); Counter.count = 5; out(Counter.count);
//// exported destructuring => [[1,2,3]]
namespace D { export const { a, b: [b2], ...rest } = { a: 1, b: [2], c: 3 }; }
out([D.a, D.b2, D.rest.c]);
//// several exported constants => [[1,2]]
namespace N { export const a = 1, b = a + 1; }
out([N.a, N.b]);
//// exported abstract and generic things => [1]
namespace N {
  export abstract class Base<T> { abstract x: T }
  export class Impl extends Base<number> { x = 1 }
  export interface Shape { y: number }
  export type Alias = Shape | null;
  export declare const outside: string;
}
out(new N.Impl().x);
//// exported overloads and async functions => [1,[2]]
namespace N {
  export function f(x: number): number;
  export function f(x: any): any { return x; }
  export async function* g(): AsyncGenerator<number> { yield 2; }
}
out(N.f(1)); const got: number[] = []; for await (const v of N.g()) got.push(v); out(got);
//// import alias of a value => [1]
const lib = { inner: { v: 1 } };
import inner = lib.inner;
out(inner.v);
//// import alias of a type vanishes => [1]
namespace T { export interface A { x: number } }
import Shape = T.A;
const s: Shape = { x: 1 };
out(s.x);
//// exported import alias in a namespace => [2]
namespace A { export const v = 2; }
namespace B { export import w = A.v; }
out(B.w);
//// namespace without semicolons around it => [1,[2]]
const a = 1
namespace N { export const b = a }
out(N.b)
namespace N { export const c = 2 }
[N.c].forEach((x: number) => out([x]))
//// member with the name of its namespace => [1]
namespace Box { export class Box { v = 1 } }
out(new Box.Box().v);
//// merging into a class without a semicolon before => [3]
class C { v = 1 }
const z = 1
namespace C { export const extra = 3 }
out(C.extra)
//// lines are kept across a namespace => [1]
namespace Wide.
  Deep {
  export const a: number = 1;
}
out(Wide.Deep.a);
//// empty namespace => ["undefined"]
namespace Nothing {}
out(typeof globalThis.Nothing);
//// namespace in a namespace that merges => [{"Q":{"a":1,"b":2}}]
namespace P { export namespace Q { export const a = 1; } export namespace Q { export const b = 2; } }
out(P);
//// enum merged across namespace blocks => [{"0":"A","1":"B","A":0,"B":1}]
namespace N { export enum E { A } }
namespace N { export enum E { B = 1 } }
out(N.E);
//// namespace inside a function by way of a block => [1]
{ namespace Local { export const a = 1; } out(Local.a); }
//// namespace with its brace on the next line => [1]
namespace Allman
{
  export const a: number = 1;
}
out(Allman.a);
//// a merged namespace names exports of its earlier part => [2,[1,"f","C",5],9]
namespace Merged1 { export const a = 1; export function f() { return "f" } export class C {} export enum E { X = 5 } }
namespace Merged1 { export const b = a + 1; export const all = [a, f(), C.name, E.X]; }
namespace Merged1 { const a = 9; export const own = a; }
out(Merged1.b); out(Merged1.all); out(Merged1.own);
//// a merged namespace inside another => [2]
namespace Outer2 { export namespace In { export const a = 1 } export namespace In { export const b = a + 1 } }
out(Outer2.In.b);
//// an alias of a type whose name is said elsewhere => ["Foo Foo"]
namespace Types3 { export interface Foo { a: number } }
import Foo = Types3.Foo;
const foo3: Foo = { a: 1 }; // Foo
out(`Foo ${"Foo"}`);
//// an alias that is only used in a template => ["1"]
namespace Values4 { export const one = 1 }
import one4 = Values4.one;
out(`${one4}`);
//// nested namespaces with their braces on the next line => [1,2]
namespace Allman5
{
  export const a = 1;
  export namespace In
  {
    export const b: number = 2;
  }
}
out(Allman5.a); out(Allman5.In.b);
//// the head of a namespace in a template => ["\nnamespace N\n{"]
out(`
namespace N
{`);
//// a namespace that names itself in an earlier part => [1]
namespace Self6 { export const Self6 = 1, a = 1 }
namespace Self6 { export const b = a }
out(Self6.b);
//// a comment behind the brace of an exported function => [1]
namespace N {
export function f() { return 1 } // c
}
out(N.f());
//// a comment behind the brace of a namespace => [1]
namespace N {
export const a = 1;
} // N
out(N.a);
//// comments behind exports without a semicolon => [[1,2,3,4]]
namespace N {
export const a = 1 // a
export let b = 2 /* b */
export class C { static c = 3 } // C
export enum E { D = 4 } // E
} /* N */ out([N.a, N.b, N.C.c, N.E.D]);
//// an exported variable that is assigned from outside => [5]
namespace M { export let v = 1; export function get() { return v } } M.v = 5; out(M.get());
//// an exported variable that is assigned from inside => [[2,3,{"v":3}]]
namespace M { export let v = 1; export function bump() { return ++v } }
out([M.bump(), M.bump(), M]);
//// an exported variable in patterns and shorthands => [[7,8,{"v":8},[8]]]
namespace M { export let v = 1, w: number; export const read = () => { [v] = [7]; w = v; ({ v } = { v: 8 }); return [w, v, { v }, [v]]; }; }
out(M.read());
//// an exported variable that a parameter hides => [[2,1]]
namespace M { export let v = 1; export const f = (v: number) => v; export const g = () => v }
out([M.f(2), M.g()]);
//// exported patterns become properties => [{"a":1,"c":[2,3],"e":4,"r":{"x":5}}]
namespace M { export const { a, b: c, d: { e = 4 } = {}, ...r }: any = { a: 1, b: [2, 3], x: 5 } }
out(M);
//// an exported variable without a value before a line that starts with a bracket => [[1]]
namespace M { export let a
(() => out([1]))() }
//// a dotted namespace sees what its outer parts export => [[1,true]]
namespace A.B { export class E { id = 1 } } namespace A.B.C { export class X extends E {} }
out([new A.B.C.X().id, new A.B.C.X() instanceof A.B.E]);
//// a dotted namespace sees its siblings => [3]
namespace A.B { export const one = 1 } namespace A.C { export const three = B.one + 2 }
out(A.C.three);
//// a member that has the name of its namespace => [[1,2]]
namespace A { export class A { x = 1 } export const made = () => new A().x; } namespace B { export namespace B { export const y = 2 } export const got = B.y }
out([A.made(), B.got]);
//// a variable of an earlier part is the same variable => [[2,2]]
namespace A { export let v = 1; export const read = () => v } namespace A { v = 2; export const again = () => v }
out([A.read(), A.again()]);
//// parts of an inner namespace in different parts of the outer one => [[1,2]]
namespace A { export namespace B { export const x = 1 } } namespace A { export namespace B { export const y = x + 1 } }
out([A.B.x, A.B.y]);
//// an exported alias of a namespace of types => [{}]
namespace A { export interface I { a: 1 } } namespace N { export import P = A; export const p: P.I | 0 = 0 }
out(Object.keys(N).includes("P") ? N : {});
//// an alias of a type whose name occurs elsewhere => [[3,4]]
namespace A { export interface I { x: 1 } } namespace N { import I = A.I; export const f = (I: number) => I; export const o = { I: 4 } }
out([N.f(3), N.o.I]);
//// an alias of a value that is used => [1]
namespace A { export const v = 1 } namespace N { import w = A.v; export const x = w }
out(N.x);
//// an alias that is exported and used inside => [[1,1]]
namespace A { export namespace B { export const v = 1 } } namespace N { export import Q = A.B; export const x = Q.v }
out([N.x, N.Q.v]);
//// an alias of an alias of a type => [0]
namespace A { export namespace T { export type X = 1 } } namespace N { export import P = A.T; export import R = P.X }
out(typeof N === "undefined" ? 0 : Object.keys(N).length);
//// a namespace that only declares a variable exists => [{}]
namespace M { export declare var n: any }
out(M);
//// a declared variable that is assigned reaches the namespace => [{"a":1}]
namespace ns { export declare let a: number; a = 1 }
out(ns);
//// a namespace with a declared variable before a template => [0]
namespace N { declare let q: number
`tpl` }
out(N.toString.length);
//// names of a namespace in all places of a class => [[1,2,"3",4]]
namespace N { export const k = "m", one = 1; export let two = 2; export class C { [k]() { return one } static s = two; get g() { return `${two + 1}` } p = { two } } }
out([new N.C().m(), N.C.s, new N.C().g, new N.C().p.two + 2]);
