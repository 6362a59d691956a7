//// fetch and filter with typed tools => [[{"id":1,"name":"a"}]]
interface Entry { id: number; name: string; tags?: string[] }
const tools = { call: async <T,>(id: string, input?: unknown): Promise<T> => [{ id: 1, name: "a" }, { id: 2, name: "b" }] as unknown as T };
const entries = await tools.call<Entry[]>("openclaw:core:list", { limit: 2 } as const);
const picked: Entry[] = entries.filter((e): e is Entry => e.id < 2);
out(picked);
//// group by with records => [{"x":[1,3],"y":[2]}]
type Item = { kind: "x" | "y"; n: number };
const items: Item[] = [{ kind: "x", n: 1 }, { kind: "y", n: 2 }, { kind: "x", n: 3 }];
const groups = items.reduce<Record<string, number[]>>((acc, { kind, n }: Item) => {
  (acc[kind] ??= []).push(n);
  return acc;
}, {});
out(groups);
//// parallel calls with settled results => [["ok",1],["no","x"]]
type Outcome<T> = { status: "fulfilled"; value: T } | { status: "rejected"; reason: unknown };
const settled = (await Promise.allSettled([Promise.resolve(1), Promise.reject(new Error("x"))])) as Outcome<number>[];
for (const s of settled) out(s.status === "fulfilled" ? ["ok", s.value] : ["no", (s.reason as Error).message]);
//// discriminated union and exhaustive switch => [3.14,4]
enum Kind { Circle = "circle", Square = "square" }
type Shape = { kind: Kind.Circle; r: number } | { kind: Kind.Square; a: number };
function area(s: Shape): number {
  switch (s.kind) {
    case Kind.Circle: return 3.14 * s.r ** 2;
    case Kind.Square: return s.a * s.a;
    default: { const never: never = s; throw new Error(String(never)); }
  }
}
out(area({ kind: Kind.Circle, r: 1 })); out(area({ kind: Kind.Square, a: 2 }));
//// retry helper with generics => ["done",3]
async function retry<T>(fn: (attempt: number) => Promise<T>, { times = 3 }: { times?: number } = {}): Promise<T> {
  let last: unknown;
  for (let i = 1; i <= times; i++) {
    try { return await fn(i); } catch (e: unknown) { last = e; }
  }
  throw last as Error;
}
let tries = 0;
out(await retry<string>(async (n) => { tries = n; if (n < 3) throw new Error("again"); return "done"; }));
out(tries);
//// event emitter class => [["a",1]]
type Handler<T> = (value: T) => void;
class Emitter<E extends Record<string, unknown>> {
  private handlers: { [K in keyof E]?: Handler<E[K]>[] } = {};
  constructor(private readonly name: string) {}
  on<K extends keyof E>(key: K, handler: Handler<E[K]>): this { (this.handlers[key] ??= []).push(handler); return this; }
  emit<K extends keyof E>(key: K, value: E[K]): void { for (const h of this.handlers[key] ?? []) h(value); }
}
new Emitter<{ a: number }>("x").on("a", (v) => out(["a", v])).emit("a", 1);
//// linked list with generators => [[1,2]]
class Node1<T> { next: Node1<T> | null = null; value: T; constructor(value: T) { this.value = value; } }
class List<T> implements Iterable<T> {
  #head: Node1<T> | null = null;
  add(v: T): this { const n = new Node1<T>(v); if (!this.#head) this.#head = n; else { let c = this.#head!; while (c.next) c = c.next!; c.next = n; } return this; }
  *[Symbol.iterator](): IterableIterator<T> { for (let c = this.#head; c; c = c!.next) yield c.value; }
}
out([...new List<number>().add(1).add(2)]);
//// pagination loop => [5]
interface Page<T> { items: T[]; next?: string | null }
const fetchPage = async (cursor?: string | null): Promise<Page<number>> => cursor ? { items: [4, 5], next: null } : { items: [1, 2, 3], next: "c" };
const all: number[] = [];
let cursor: string | null | undefined;
do { const page: Page<number> = await fetchPage(cursor); all.push(...page.items); cursor = page.next; } while (cursor);
out(all.length);
//// memoise with overloads and maps => [4,1]
function memo<A extends string | number, R>(f: (a: A) => R): (a: A) => R {
  const cache = new Map<A, R>();
  return (a: A): R => { if (!cache.has(a)) cache.set(a, f(a)); return cache.get(a)!; };
}
let runs = 0; const sq = memo((x: number) => { runs++; return x * x; });
sq(2); out(sq(2)); out(runs);
//// assertions and unknown parsing => ["bob"]
function parse(json: string): unknown { return JSON.parse(json); }
const parsed = parse('{"name":"bob"}');
if (typeof parsed === "object" && parsed !== null && "name" in parsed) out((parsed as { name: string }).name);
//// pick and omit utilities => [{"a":1}]
const pick = <T extends object, K extends keyof T>(o: T, ...keys: K[]): Pick<T, K> =>
  Object.fromEntries(keys.map((k) => [k, o[k]])) as Pick<T, K>;
out(pick({ a: 1, b: 2 }, "a"));
//// state machine with satisfies => ["red"]
const machine = { green: "yellow", yellow: "red", red: "green" } as const satisfies Record<string, string>;
type State = keyof typeof machine;
let state: State = "yellow";
state = machine[state];
out(state);
//// config object with nested generics => [{"retries":3}]
type DeepPartial<T> = { [K in keyof T]?: T[K] extends object ? DeepPartial<T[K]> : T[K] };
interface Config { retries: number; nested: { on: boolean } }
const withDefaults = (c: DeepPartial<Config>): Partial<Config> => ({ retries: 3, ...(c as Partial<Config>) });
out(withDefaults({}));
//// namespace as a module of helpers => ["2024-01-05"]
namespace Dates {
  const pad = (n: number): string => String(n).padStart(2, "0");
  export function iso(y: number, m: number, d: number): string { return `${y}-${pad(m)}-${pad(d)}`; }
}
out(Dates.iso(2024, 1, 5));
//// comparator chains => [["b","a"]]
type By<T> = (a: T, b: T) => number;
const by = <T,>(...cs: By<T>[]): By<T> => (a, b) => cs.reduce((r, c) => r || c(a, b), 0);
const rows: { n: string; v: number }[] = [{ n: "a", v: 1 }, { n: "b", v: 2 }];
out(rows.sort(by<typeof rows[number]>((x, y) => y.v - x.v)).map((r) => r.n));
//// async queue with a class => [[2,4]]
class Queue<T, R> {
  private results: R[] = [];
  constructor(private readonly work: (t: T) => Promise<R>, private limit: number = 2) {}
  async run(items: readonly T[]): Promise<R[]> {
    for (let i = 0; i < items.length; i += this.limit) {
      const batch = items.slice(i, i + this.limit);
      this.results.push(...(await Promise.all(batch.map((t) => this.work(t)))));
    }
    return this.results;
  }
}
out(await new Queue<number, number>(async (n) => n * 2).run([1, 2]));
//// error with a code => ["E_X:no"]
class CodeError extends Error { readonly code: string; constructor(code: string, message: string) { super(message); this.code = code; } }
try { throw new CodeError("E_X", "no"); } catch (e) { const err = e as CodeError; out(`${err.code}:${err.message}`); }
//// plain JavaScript is TypeScript => [[2,3],"b"]
const f = (xs) => xs.map((x) => x + 1);
out(f([1, 2]));
var { a = "b" } = {};
out(a);
