//// fields with modifiers => [{"a":1,"b":2,"c":3,"d":4}]
class Fields { public a: number = 1; private b = 2; protected c: number = 3; readonly d = 4; }
out(new Fields());
//// uninitialised fields are defined => [["x","y","z"]]
class Empty { x: number; y?: string; z!: boolean; }
out(Object.keys(new Empty()));
//// declared fields are not => [["b"]]
class Declared { declare a: number; b = 1; declare readonly c: string; }
out(Object.keys(new Declared()));
//// define semantics over an inherited setter => [["own"]]
class Base0 { set v(x: number) { out("setter"); } }
class Derived0 extends Base0 { v: any = 1; }
out(Object.hasOwn(new Derived0(), "v") ? ["own"] : ["not"]);
//// static, async and generator members => [1,2,[3]]
class Members {
  static s: number = 1;
  static async a(): Promise<number> { return 2; }
  private static *g(): Generator<number> { yield 3; }
  static all() { return [...Members.g()]; }
}
out(Members.s); out(await Members.a()); out(Members.all());
//// private names with types => [5]
class Hidden { #n: number = 4; static #count?: number; #inc<T>(by: number): number { return this.#n + by; } get() { return this.#inc(1); } }
out(new Hidden().get());
//// accessors with modifiers => [2]
class Acc { private _v = 1; public get v(): number { return this._v; } public set v(x: number) { this._v = x; } }
const acc = new Acc(); acc.v = 2; out(acc.v);
//// abstract class and members => ["circle",3]
abstract class Shape {
  abstract readonly name: string;
  abstract area(): number;
  protected abstract get size(): number;
  abstract set size(v: number);
  describe(): string { return this.name; }
}
class Circle extends Shape { name = "circle"; area() { return 3; } get size() { return 1; } set size(v) {} }
out(new Circle().describe()); out(new Circle().area());
//// abstract member before a generator => [[1]]
abstract class Gen {
  x = 1
  abstract y: number
  *gen(): Generator<number> { yield this.x }
}
class Gen2 extends Gen { y = 2 }
out([...new Gen2().gen()])
//// implements and generic heritage => [1]
interface Named { name: string } interface Sized<T> { size: T }
class Base<T> { v?: T }
class Impl<T> extends Base<T> implements Named, Sized<number> { name = "n"; size = 1; }
out(new Impl<string>().size);
//// implements without extends => ["n"]
interface Named2 { name: string }
class Impl2 implements Named2 { name = "n" }
out(new Impl2().name);
//// extends an expression with type arguments => [1]
const mixin = <T extends new (...a: any[]) => object>(B: T) => class extends B { mixed = 1; };
class Mixed extends mixin<typeof Object>(Object as any) {}
out((new Mixed() as any).mixed);
//// method overloads => ["number"]
class Over {
  m(x: number): string;
  m(x: string): string;
  m(x: unknown): string { return typeof x; }
}
out(new Over().m(1));
//// constructor overloads => [1]
class OverC { v: number; constructor(); constructor(v: number); constructor(v?: number) { this.v = v ?? 1; } }
out(new OverC().v);
//// optional methods => ["undefined",1]
class OptM { m?(): void; n?() { return 1; } }
out(typeof new OptM().m); out(new OptM().n!());
//// index signatures => [{"a":1}]
class Dict { [key: string]: any; readonly [n: number]: string; a = 1; }
out(new Dict());
//// override modifier => ["b"]
class O1 { m(): string { return "a"; } f = 1 }
class O2 extends O1 { override m(): string { return "b"; } override f = 2 }
out(new O2().m());
//// parameter properties => [{"x":1,"y":2}]
class Point { constructor(public x: number, private readonly y = 2) {} }
out(new Point(1));
//// parameter properties come before fields => [["p","f"]]
class Order { f = 1; constructor(readonly p: number) {} }
out(Object.keys(new Order(1)));
//// parameter properties in a derived class => [{"a":1,"b":2,"seen":2}]
class PBase { constructor(public a: number) {} }
class PDerived extends PBase {
  seen: number;
  constructor(a: number, public b: number) {
    super(a);
    this.seen = this.b;
  }
}
const pd = new PDerived(1, 2);
out({ a: pd.a, b: pd.b, seen: pd.seen });
//// parameter property with super without a semicolon => [[1,2]]
class PB2 { constructor(public a: number) {} }
class PD2 extends PB2 { constructor(private b: number) { super(1)
    out([this.a, this.b]) } }
new PD2(2)
//// optional parameter property => [[null,["o"]]]
class POpt { constructor(protected o?: string) {} keys() { return [this.o ?? null, Object.keys(this)]; } }
out(new POpt().keys());
//// parameter property among ordinary parameters => [{"b":2}]
class PMix { constructor(a: number, public b: number, ...c: number[]) { this.b += a + c.length - 1; } }
out(new PMix(1, 2));
//// parameter properties in a class expression => [{"a":1}]
const CE = class<T> { constructor(public a: T) {} };
out(new CE(1));
//// super call inside a block
class SB { constructor(public a: number) {} }
class SD extends SB { constructor(public b: number) { if (b) { super(b); } else { super(0); } } }
//// fields named like modifiers => [{"get":1,"set":2,"static":3,"async":4,"readonly":5,"declare":6,"type":7,"of":8}]
class Mods { get: number = 1; set: number = 2; static: number = 3; async = 4; readonly: number = 5; declare: number = 6; type = 7; of = 8 }
out(new Mods());
//// a field named abstract => [1]
class AbsField { abstract: number = 1; }
out(new AbsField().abstract);
//// get and set fields before methods => [["foo"],["get","set","static"]]
class GetField {
  get: number
  set?: number
  static: number
  foo(): void {}
}
out(Object.getOwnPropertyNames(GetField.prototype).slice(1)); out(Object.keys(new GetField()));
//// field without initialiser before a computed one => [["a","b"]]
class Comp {
  a: number
  ["b"]: number = 1
}
out(Object.keys(new Comp()));
//// private computed member after an initialised field => [["a","k"]]
class Comp2 {
  a = 1
  private ["k"] = 2
}
out(Object.keys(new Comp2()));
//// private generator after an initialised field => [[2]]
class Comp3 {
  a = [1]
  private *g() { yield 2 }
  run() { return [...this.g()] }
}
out(new Comp3().run());
//// class expression with types => [1]
const K = class Named<T> implements Iterable<T> { v: number = 1; *[Symbol.iterator](): Iterator<T> {} };
out(new K<string>().v);
//// static blocks => [2]
class SB1 { static v: number; static { SB1.v = 2 as number; } }
out(SB1.v);
//// private constructor and singleton => [true]
class Single { private static it?: Single; private constructor() {} static get(): Single { return (Single.it ??= new Single()); } }
out(Single.get() === Single.get());
//// fluent this type => [2]
class Fluent { n = 0; inc(): this { this.n++; return this; } }
out(new Fluent().inc().inc().n);
//// symbols as member names => [[1]]
class Sym { *[Symbol.iterator](): IterableIterator<number> { yield 1; } [Symbol.toPrimitive]?(h: string): number; }
out([...new Sym()]);
//// string and number member names => [{"1":"b","a-b":1}]
class Lit { "a-b": number = 1; 1: string = "b"; }
out(new Lit());
//// generic class with constraint and default => [{"items":[1]}]
class Stack<T extends number = number> { private items: T[] = []; push(...xs: T[]): this { this.items.push(...xs); return this; } }
out(new Stack<1>().push(1));
//// field with an arrow and a return type => [3]
class Arrow { private f = (x: number): number => x + 1; run = async <T,>(y: T): Promise<number> => this.f(2); }
out(await new Arrow().run(1));
//// field that ends in a cast => [{"a":1,"b":2}]
class CastField {
  a = 1 as number
  b = 2 as any as number
}
out(new CastField());
//// instanceof with a generic class => [true]
class G<T> { v?: T }
const g: unknown = new G<number>();
out(g instanceof G);
//// static declare field => [[]]
class SDF { static declare x: number; }
out(Object.keys(SDF));
//// static index signature => [0]
class SIS { static [key: string]: any; }
out(Object.keys(SIS).length);
//// a static method named constructor before the constructor => [{"x":1},2]
class StaticNamed { static constructor() { return 2 } constructor(public x: number) {} }
out(new StaticNamed(1)); out((StaticNamed as any).constructor());
//// a constructor in quotes => [{"x":1}]
class Quoted { "constructor"(public x: number) {} }
out(new Quoted(1));
//// a comment behind super => [{"b":2}]
class A { constructor(a: number) {} }
class B extends A { constructor(public b: number) { super(b) // c
} }
out(new B(2));
//// parameter properties where super is called in branches and expressions => [[{"b":1},{"b":2},{"b":3}]]
class A {}
class B extends A { constructor(public b: number) { if (b > 1) super(); else { super() } } }
class C extends A { constructor(readonly b: number) { const made = super(); return made } }
out([new B(1), new B(2), new C(3)]);
