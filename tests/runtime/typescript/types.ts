//// interface declaration => [1]
interface User { id: number; name?: string; readonly tags: string[] }
const u: User = { id: 1, tags: [] };
out(u.id);
//// interface that extends others => [2]
interface A { a: number }
interface B extends A, Iterable<string> { b(): void; (x: number): string; new (x: number): B; [key: string]: any }
out(2);
//// type alias of a union of literals => ["a"]
type Kind = "a" | "b" | 3 | true | null | undefined;
const k: Kind = "a";
out(k);
//// conditional type with infer => [1]
type Unwrap<T> = T extends Promise<infer U> ? U : T extends (infer E)[] ? E : never;
const v: Unwrap<Promise<number>> = 1;
out(v);
//// mapped type with modifiers => [{"a":1}]
type Mutable<T> = { -readonly [K in keyof T]-?: T[K] };
type Renamed<T> = { [K in keyof T as `get${Capitalize<string & K>}`]: () => T[K] };
const m: Mutable<{ readonly a?: number }> = { a: 1 };
out(m);
//// template literal type => ["x-1"]
type Id = `${string}-${number}`;
const id: Id = "x-1";
out(id);
//// tuple types with labels, optional and rest parts => [[1,"b"]]
let t: [a: number, b?: string, ...rest: boolean[]] = [1, "b"];
out(t);
//// keyof, typeof and indexed access types => ["x"]
const point = { x: 1, y: 2 } as const;
type Key = keyof typeof point;
type Value = (typeof point)[Key];
const key: Key = "x";
out(key);
//// function and constructor types => [3]
type Fn = (a: number, b?: string, ...rest: unknown[]) => void;
type Ctor<T = {}> = new (...args: any[]) => T;
type AbstractCtor = abstract new () => object;
let f: Fn | null = null;
out(3);
//// unique symbol and bigint types => ["symbol","bigint"]
const s: unique symbol = Symbol("s");
let b: bigint = 10n;
out(typeof s); out(typeof b);
//// type predicates and asserts => [true,false]
function isString(x: unknown): x is string { return typeof x === "string"; }
function assertNumber(x: unknown): asserts x is number { if (typeof x !== "number") throw new Error("no"); }
function assertTruthy(x: unknown): asserts x { if (!x) throw new Error("no"); }
assertNumber(1); assertTruthy(1);
out(isString("a")); out(isString(1));
//// this type predicate in a class => [true]
class Shape { isRound(): this is Round { return this instanceof Round; } }
class Round extends Shape {}
out(new Round().isRound());
//// annotations on every kind of variable => [1,2,3,4,5]
const a: number = 1; let b: number = 2; var c: number = 3;
const { d, e }: { d: number; e: number } = { d: 4, e: 5 };
out(a); out(b); out(c); out(d); out(e);
//// array destructuring with an annotation => [[2,1]]
let [p, q]: [number, number] = [1, 2];
[p, q] = [q, p];
out([p, q]);
//// definite assignment => [7]
let late!: number;
late = 7;
out(late);
//// as, as const and double cast => [{"a":1},[1,2],"5"]
const o = { a: 1 } as const;
const list = [1, 2] as readonly number[];
const n = "5" as unknown as number;
out(o); out(list); out(n);
//// satisfies => [{"red":"#f00"}]
const colors = { red: "#f00" } satisfies Record<string, string>;
out(colors);
//// satisfies and as in a chain => [[1]]
const chain = [1] satisfies number[] as readonly number[] as unknown;
out(chain);
//// non-null assertions everywhere => [1,2,3]
const maybe: { a?: { b?: number[] } } = { a: { b: [1, 2, 3] } };
out(maybe.a!.b![0]!); out(maybe!.a!.b!.at(1)!); out(maybe?.a!.b?.[2]!);
//// non-null as an assignment target => [5]
const box: { v?: number } = {};
box!.v! = 5;
out(box.v);
//// non-null before arithmetic => [3]
const x1: number | null = 1, y1: number | null = 2;
out(x1! + y1!);
//// angle bracket assertion => [1]
const raw: unknown = 1;
const cast = <number>raw;
out(cast);
//// angle bracket assertion of an object in an arrow body => [{"a":1}]
const make = () => <{ a: number }>{ a: 1 };
out(make());
//// angle bracket const assertion => [[1,2]]
out(<const>[1, 2]);
//// type arguments of calls and constructors => [3,[["a",1]],"A"]
function first<T>(xs: T[]): T { return xs[0]!; }
out(first<number>([3]));
out([...new Map<string, Array<number>>([["a", 1 as any]])]);
class Foo<T> { t?: T }
const foo = new Foo<string>;
out("A");
//// nested generics that end in shift operators => [0]
const deep: Map<string, Map<string, Array<Promise<number>>>> = new Map<string, Map<string, Array<Promise<number>>>>();
out(deep.size);
//// tagged template with a type argument => ["a-1"]
function tag<T>(parts: TemplateStringsArray, ...values: T[]) { return parts[0] + values[0]; }
out(tag<number>`a-${1}`);
//// tagged template with an array type argument => ["b-2"]
function tag<T>(parts: TemplateStringsArray, ...values: any[]) { return parts[0] + values[0]; }
out(tag<string[]>`b-${2}`);
//// instantiation expression => [[1]]
function wrap<T>(x: T) { return [x]; }
const wrapNumber = wrap<number>;
out(wrapNumber(1));
//// comparison that looks like generics => [true,false]
let i = 1, j = 2, l = 3;
out(i < j); out(i < j && j > l);
//// optional call with type arguments => [4]
const maybeFn: undefined | (<T>(x: T) => T) = (x) => x;
out(maybeFn?.<number>(4));
//// optional call on an instantiated function => [4]
const maybeFn2: undefined | (<T>(x: T) => T) = (x) => x;
out(maybeFn2<number>?.(4));
//// declare statements => [1]
declare const HOST: string;
declare let other: number, more: string;
declare function host(x: number): string;
declare class Host { x: number; constructor(y: string); }
declare enum Far { A, B }
declare namespace Lib { const version: string; function go(): void; interface X {} }
declare module "lib" { export const x: number; export default x; }
declare global { interface Array<T> { last(): T } }
declare type T1 = number;
declare abstract class Abs { abstract x(): void }
out(1);
//// import types => ["number"]
let z1: import("x").Y;
type M = typeof import("fs");
const w1 = 1 as import("y").Z;
out(typeof w1);
//// catch clause with a type => ["boom"]
try { throw new Error("boom"); } catch (e: unknown) { out((e as Error).message); }
//// for loops with annotations and casts => [0,1,"a"]
for (let i: number = 0; i < 2; i++) out(i);
for (const x of ["a"] as string[]) out(x);
for (const k in {} as Record<string, number>) out(k);
//// optional chaining with casts => [1,null]
const ob: any = { f: { g: 1 } };
out((ob as any)?.f?.g as number); out((ob.x as any)?.y ?? null);
//// casts in conditions, spreads and templates => ["v1",[1,2],"yes"]
const vv: unknown = 1;
out(`v${vv as number}`); out([...([1, 2] as number[])]); out((vv as boolean) ? "yes" : "no");
//// ternary with arrow functions and return types => [2,3]
const pick = (c: boolean) => c ? (x: number): number => x + 1 : (x: number): number => x + 2;
out(pick(true)(1)); out(pick(false)(1));
//// cast on the left of an assignment => [2]
let target: any = { a: 1 };
(target as { a: number }).a = 2;
(<any>target).b = 3;
out(target.a);
//// words of types as ordinary names => [1,2,3,4,5,6,7]
let type = 1, namespace = 2, declare = 3, as = 4, is = 5, of = 6, keyof = 7;
out(type); out(namespace); out(declare); out(as); out(is); out(of); out(keyof);
//// type words as property names => [{"type":1,"interface":2,"enum":3,"namespace":4,"readonly":5}]
out({ type: 1, interface: 2, enum: 3, namespace: 4, readonly: 5 });
//// type syntax inside strings, comments and regexes stays => ["x as T","a: number",true]
// const x: number = y as T
out("x as T"); /* interface A {} */ out(`a: number`); out(/x!: (T)/.test("x!: T"));
//// object literal with computed and cast keys => [{"a1":1}]
const kk = "a";
out({ [`${kk as string}1`]: 1 as number });
//// unicode in types and values => ["héé😀"]
type Größe = "höhe" | "😀";
const ü: Größe | string = "héé😀"; out(ü as string);
//// variance annotations of an interface => [2]
interface Source<out T> { get(): T }
out(2);
//// generic import type => ["undefined"]
let z2: import("x").Y<string>;
out(typeof z2);
//// braces on the next line => [1]
interface Lines
{
  a: number
}
class Lines2
{
  a: number = 1
}
out(new Lines2().a)
//// variance annotations => [1]
class Sink<in T> { put(x: T): void {} }
class Both<in out T> { v?: T }
out(new Both<number>() instanceof Both ? 1 : 0);
//// const type parameters => [["a"]]
function lit<const T extends readonly string[]>(x: T): T { return x; }
out(lit(["a"]));
//// accessors in interfaces and object types => [1]
type Acc = { get x(): number; set x(v: number); readonly y: string; z?(): void };
out(1);
//// assertion functions as constants => [1]
const check: (x: unknown) => asserts x is string = (x) => { if (typeof x !== "string") throw 1; };
check("a"); out(1);
//// recursive json type => [{"a":[1,null]}]
type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
const data: Json = { a: [1, null] };
out(data);
//// intersection and parenthesised types over lines => [1]
type Big =
  | { a: number }
  | ({ b: string } & {
      c: boolean; // a comment: with colon
    });
const big: Big = { a: 1 };
out((big as any).a);
//// await with type arguments => [5]
async function later<T>(x: T): Promise<T> { return x; }
out(await later<number>(5));
//// labelled loop beside types => [1]
outer: for (const a of [1] as number[]) { for (;;) { out(a); break outer; } }
