//// namespace with values [lowered] => [1,2,"c"]
namespace N { export const a = 1; export function f(): number { return 2; } export class C { c = "c"; } const hidden = 3; }
out(N.a); out(N.f()); out(new N.C().c);
//// hidden members stay hidden [lowered] => [["a"]]
namespace N { const secret = 1; export const a = secret; }
out(Object.keys(N));
//// type-only namespace vanishes => ["undefined"]
namespace T { export interface A { x: number } export type B = A; namespace Inner { type C = 1 } }
let x: T.A = { x: 1 };
out(typeof globalThis.T);
//// nested namespaces [lowered] => [1]
namespace A { export namespace B { export const c = 1; } }
out(A.B.c);
//// dotted name [lowered] => [1]
namespace A.B.C { export const d = 1; }
out(A.B.C.d);
//// merged dotted names [lowered] => [{"B":{"c":1,"d":2},"E":{"f":3}}]
namespace A.B { export const c = 1; }
namespace A.B { export const d = 2; }
namespace A.E { export const f = 3; }
out(A);
//// merged namespaces [lowered] => [{"a":1,"b":2}]
namespace N { export const a = 1; }
namespace N { export const b = N.a + 1; }
out(N);
//// the module keyword [lowered] => [1]
module M { export const a = 1; }
out(M.a);
//// namespace merged with a function [lowered] => [1,2]
function fn() { return 1; }
namespace fn { export const extra = 2; }
out(fn()); out(fn.extra);
//// namespace merged with a class [lowered] [no oracle] => [2]
class K { static s = 1 }
namespace K { export const extra = 2; }
out(K.extra);
//// namespace merged with an enum [lowered] => [0,"A!"]
enum Color { A }
namespace Color { export function label(c: Color): string { return Color[c] + "!"; } }
out(Color.A); out(Color.label(0));
//// exported enum in a namespace [lowered] => [{"0":"A","A":0}]
namespace N { export enum E { A } }
out(N.E);
//// exported let stays live [lowered] [no oracle] => [0,1,5]
namespace Counter { export let count = 0; export function inc() { count++; } }
out(Counter.count); Counter.inc(); out(Counter.count); Counter.count = 5; out(Counter.count);
//// exported destructuring [lowered] [no oracle] => [[1,2,3]]
namespace D { export const { a, b: [b2], ...rest } = { a: 1, b: [2], c: 3 }; }
out([D.a, D.b2, D.rest.c]);
//// several exported constants [lowered] => [[1,2]]
namespace N { export const a = 1, b = a + 1; }
out([N.a, N.b]);
//// exported abstract and generic things [lowered] => [1]
namespace N {
  export abstract class Base<T> { abstract x: T }
  export class Impl extends Base<number> { x = 1 }
  export interface Shape { y: number }
  export type Alias = Shape | null;
  export declare const outside: string;
}
out(new N.Impl().x);
//// exported overloads and async functions [lowered] => [1,[2]]
namespace N {
  export function f(x: number): number;
  export function f(x: any): any { return x; }
  export async function* g(): AsyncGenerator<number> { yield 2; }
}
out(N.f(1)); const got: number[] = []; for await (const v of N.g()) got.push(v); out(got);
//// import alias of a value [lowered] => [1]
const lib = { inner: { v: 1 } };
import inner = lib.inner;
out(inner.v);
//// import alias of a type vanishes => [1]
namespace T { export interface A { x: number } }
import Shape = T.A;
const s: Shape = { x: 1 };
out(s.x);
//// exported import alias in a namespace [lowered] => [2]
namespace A { export const v = 2; }
namespace B { export import w = A.v; }
out(B.w);
//// namespace without semicolons around it [lowered] => [1,[2]]
const a = 1
namespace N { export const b = a }
out(N.b)
namespace N { export const c = 2 }
[N.c].forEach((x: number) => out([x]))
//// member with the name of its namespace [lowered] => [1]
namespace Box { export class Box { v = 1 } }
out(new Box.Box().v);
//// merging into a class without a semicolon before [lowered] [no oracle] => [3]
class C { v = 1 }
const z = 1
namespace C { export const extra = 3 }
out(C.extra)
//// lines are kept across a namespace [lowered] => [1]
namespace Wide.
  Deep {
  export const a: number = 1;
}
out(Wide.Deep.a);
//// empty namespace => ["undefined"]
namespace Nothing {}
out(typeof globalThis.Nothing);
//// namespace in a namespace that merges [lowered] => [{"Q":{"a":1,"b":2}}]
namespace P { export namespace Q { export const a = 1; } export namespace Q { export const b = 2; } }
out(P);
//// enum merged across namespace blocks [lowered] [no oracle] => [{"0":"A","1":"B","A":0,"B":1}]
namespace N { export enum E { A } }
namespace N { export enum E { B = 1 } }
out(N.E);
//// namespace inside a function by way of a block [lowered] [no oracle] => [1]
{ namespace Local { export const a = 1; } out(Local.a); }
//// namespace with its brace on the next line [lowered] => [1]
namespace Allman
{
  export const a: number = 1;
}
out(Allman.a);
//// a merged namespace names exports of its earlier part [lowered] [no oracle] => [2,[1,"f","C",5],9]
namespace Merged1 { export const a = 1; export function f() { return "f" } export class C {} export enum E { X = 5 } }
namespace Merged1 { export const b = a + 1; export const all = [a, f(), C.name, E.X]; }
namespace Merged1 { const a = 9; export const own = a; }
out(Merged1.b); out(Merged1.all); out(Merged1.own);
//// a merged namespace inside another [lowered] [no oracle] => [2]
namespace Outer2 { export namespace In { export const a = 1 } export namespace In { export const b = a + 1 } }
out(Outer2.In.b);
//// an alias of a type whose name is said elsewhere => ["Foo Foo"]
namespace Types3 { export interface Foo { a: number } }
import Foo = Types3.Foo;
const foo3: Foo = { a: 1 }; // Foo
out(`Foo ${"Foo"}`);
//// an alias that is only used in a template [lowered] => ["1"]
namespace Values4 { export const one = 1 }
import one4 = Values4.one;
out(`${one4}`);
//// nested namespaces with their braces on the next line [lowered] => [1,2]
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
//// a namespace that names itself in an earlier part [lowered] [no oracle] => [1]
namespace Self6 { export const Self6 = 1, a = 1 }
namespace Self6 { export const b = a }
out(Self6.b);
