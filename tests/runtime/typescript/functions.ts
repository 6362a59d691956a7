//// parameters with types, defaults and rest => [6]
function sum(a: number, b: number = 2, ...rest: number[]): number { return a + b + rest.length; }
out(sum(2, 2, 0, 0));
//// optional parameters => [[1,null]]
function opt(a: number, b?: string): [number, string | null] { return [a, b ?? null]; }
out(opt(1));
//// overloads => ["n","s"]
function over(x: number): string;
function over(x: string): string;
function over(x: any): string { return typeof x === "number" ? "n" : "s"; }
out(over(1)); out(over("a"));
//// overloads without semicolons => ["n"]
function over2(x: number): string
function over2(x: string): string
function over2(x: any) { return typeof x === "number" ? "n" : "s" }
out(over2(1))
//// async overloads => [1]
async function load(x: string): Promise<number>;
async function load(x: any): Promise<number> { return 1; }
out(await load("x"));
//// this parameter => [[1,2]]
function withThis(this: { n: number }, m: number): number[] { return [this.n, m]; }
out(withThis.call({ n: 1 }, 2));
//// only a this parameter => [3]
function onlyThis(this: { n: number }): number { return this.n; }
out(onlyThis.call({ n: 3 }));
//// this parameter with a trailing comma => [0]
function trailing(this: void,) { return arguments.length; }
out(trailing());
//// generic functions with constraints and defaults => [1]
function prop<T extends object, K extends keyof T = keyof T>(o: T, k: K): T[K] { return o[k]; }
out(prop({ a: 1 }, "a"));
//// generic arrow functions => [1,2,3]
const a1 = <T,>(x: T): T => x;
const a2 = <T extends unknown>(x: T) => x;
const a3 = async <T>(x: T): Promise<T> => x;
out(a1(1)); out(a2(2)); out(await a3(3));
//// arrow with an object return type => [{"x":1}]
const f1 = (): { x: number } => ({ x: 1 });
out(f1());
//// arrow with a return type over lines => [1]
const f2 = (a: number): {
  x: number;
} => ({ x: a });
out(f2(1).x);
//// arrow with parameters and return type over lines => [[1,2]]
const f3 = (
  a: number,
  b: number,
): Array<
  number
> => [a, b];
out(f3(1, 2));
//// generic arrow over lines after return => [4]
function makeIt() {
  return <
    T,
  >(x: T) => x;
}
out(makeIt()(4));
//// async generic arrow over lines => [5]
const f5 = async <
  T,
>(x: T): Promise<T> => x;
out(await f5(5));
//// destructured parameters with types => [3]
const add = ({ a, b = 2 }: { a: number; b?: number }, [c]: number[] = [0]): number => a + b + c;
out(add({ a: 1 }));
//// default values with casts => [{"k":1}]
function defaults(o: Record<string, number> = {} as Record<string, number>) { o.k = 1; return o; }
out(defaults());
//// generator with types => [[1,2]]
function* gen<T>(a: T, b: T): Generator<T, void, unknown> { yield a as T; yield b!; }
out([...gen<number>(1, 2)]);
//// async generator => [1,2]
async function* agen(): AsyncGenerator<number> { yield 1; yield 2; }
for await (const x of agen()) out(x as number);
//// function expressions with types => [2]
const fe = function named<T>(this: void, x: T): T { return x; };
out(fe<number>(2));
//// immediately called arrow => [9]
out(((x: number): number => x * x)(3));
//// higher order types => [4]
const compose = <A, B, C>(f: (a: A) => B, g: (b: B) => C) => (a: A): C => g(f(a));
out(compose((x: number) => x + 1, (y: number) => y * 2)(1));
//// callbacks with types in calls => [[2,4]]
out([1, 2].map((x: number): number => x * 2).filter((x): x is number => true));
//// reduce with a cast accumulator => [{"a":1}]
out(["a"].reduce((acc, k) => { acc[k] = 1; return acc; }, {} as Record<string, number>));
//// object methods with types => [[1,2,3]]
const obj = {
  a<T>(x: T): T { return x; },
  async b(x: number): Promise<number> { return x; },
  get c(): number { return 3; },
  set c(v: number) {},
  *d(): Generator<number> { yield 4; },
};
out([obj.a<number>(1), await obj.b(2), obj.c]);
//// getters and async as names => [1,2,3]
const names = { get: (x?: number) => 1, set(v: number): number { return 2; }, async: 3 as number };
out(names.get()); out(names.set(1)); out(names.async);
//// nested functions with own types => [3]
function outerFn(a: number) {
  type Local = number;
  interface LocalShape { x: Local }
  const inner = (s: LocalShape): Local => s.x + a;
  return inner({ x: 2 });
}
out(outerFn(1));
//// parameters that look like casts => [6]
const h = (a: number, b = a as number, c = (b as number) + 1) => a + b + c;
out(h(1, 2));
//// curried generic with function type parameter => [3]
const curry = <F extends (...args: any[]) => any>(f: F) => (...args: Parameters<F>): ReturnType<F> => f(...args);
out(curry((a: number, b: number) => a + b)(1, 2));
//// arrow in a conditional => ["b"]
const choose = true ? (x: string) => x : null;
out(choose!("b"));
//// promise all with tuple types => [[1,"a"]]
const [n1, s1]: [number, string] = await Promise.all([Promise.resolve(1), Promise.resolve("a")]);
out([n1, s1]);
//// error class narrowing => ["E:x"]
class AppError extends Error { constructor(message: string, public override readonly cause?: unknown) { super(message); } }
try { throw new AppError("x"); } catch (e) { if (e instanceof AppError) out(`E:${e.message}`); }
//// arrow with a function return type => [2]
const mk = (): ((x: number) => number) => (x) => x + 1;
out(mk()(1));
//// void and never returns => [null]
function nothing(): void {}
function fail(m: string): never { throw new Error(m); }
out(nothing() ?? null);
