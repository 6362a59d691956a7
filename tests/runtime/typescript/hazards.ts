//// cast before a parenthesis on the next line => [1,2]
let a: any = 1 as number
(() => out(1))()
out(2)
//// cast before a bracket on the next line => [1,2]
let b = 1 as any
[1, 2].forEach((x) => out(x))
//// cast before a template on the next line => [1]
let c = 1 as any
`x`
out(c)
//// satisfies before a parenthesis => [3]
const d = 3 satisfies number
(function () { out(d) })()
//// cast before plus and minus goes on => [3,1]
let e = 1 as number
+ 2
let f = 2 as number
- 1
out(e); out(f)
//// cast before increment => [[1,2]]
let g = 1, h = 1
const i = g as number
++h
out([i, h])
//// cast over lines => [1]
const j = 1 as
  | number
  | string
out(j)
//// cast to an object type over lines => [{"x":1}]
const k = { x: 1 } as {
  x: number
}
out(k)
//// type alias before a parenthesis => [1]
const l = 1
type A1 = number
(() => out(l))()
//// type alias before a bracket => [1]
const m = 1
type A2 = number
[m].forEach((x) => out(x))
//// type alias before a template => [1]
const n = 1
type A3 = number
`x`
out(n)
//// type alias before a sign => [1]
const o = 1
type A4 = number
+o
out(o)
//// type alias before a regex => [true]
const p = "a"
type A5 = string
/a/.test(p)
out(true)
//// interface before a parenthesis => [1]
const q = 1
interface I1 { a: number }
(() => out(q))()
//// declare before a bracket => [1]
const r = 1
declare const z: number
[r].forEach((x) => out(x))
//// overload before a parenthesis => [1]
const s = 1
function t(x: number): void
function t(x: any) {}
(() => out(s))()
//// variable with a type before a parenthesis => [2]
let u: number
(() => out(2))()
//// variable with a type before a bracket => [1]
let v: number
[1].forEach((x) => out(x))
//// return with an assertion over lines => [7]
function ret() {
  return <number>
    7;
}
out(ret());
//// throw with an assertion over lines => ["x"]
try { throw <any>
  "x"; } catch (e) { out(e); }
//// assertion of a function in an arrow body => ["function"]
const fx = () => <any>function () {};
out(typeof fx());
//// assertion of an object inside a call => [{"a":1}]
const id = (x: any) => x;
out(id(<any>{ a: 1 }));
//// comments inside types => [1]
const w: /* a */ number /* b */ = 1; // : string
function x1(/* this: X */ a: /* number */ number /* ) */): /* { */ number { return a; }
out(x1(w));
//// strings with braces inside types => [1]
type Q1 = { "}": number; '{': "}" } | `${"a"}`;
const y = 1 as unknown as Q1 as any;
out(y);
//// arrow with a type predicate over lines => [true]
const isN = (x: unknown): x is
  number => typeof x === "number";
out(isN(1));
//// type arguments over lines => [0]
const map = new Map<
  string,
  number
>();
out(map.size);
//// carriage returns => [1,2]
const cr: number = 1;
type T = {
  a: number;
};
out(cr); out(2 as number);
//// less than and greater than beside casts => [true]
const lt = (1 as number) < 2 && 3 > (2 as number);
out(lt);
//// casts inside template substitutions => ["1-[2]"]
out(`${1 as number}-${JSON.stringify([2] as const)}`);
//// nested template with types => ["a1b"]
out(`a${((x: number): string => `${x as number}`)(1)}b`);
//// exclamation marks of all kinds => [true,false,1]
const ex: any = { v: 1 };
out(!!ex!.v); out(!ex!); out(ex!.v! !== 2 ? 1 : 0);
//// definite assignment without a semicolon => [1]
let da!: number
da = 1
out(da)
//// question marks of all kinds => [1,null,2]
const qm = (a?: { b?: number }) => a?.b ?? null;
out(qm({ b: 1 })); out(qm()); out(true ? 2 : 3);
//// in and instanceof with casts => [true,true]
out("a" in ({ a: 1 } as object)); out((new Date() as any) instanceof Date);
//// a property named as => [1,2]
const as1 = { as: 1, satisfies: 2 };
out(as1.as); out(as1.satisfies);
//// delete, void and typeof with casts => [true,"number"]
const del: any = { a: 1 };
out(delete (del as any).a); out(typeof (1 as any));
//// async arrow in arguments with types => [3]
out(await (async (x: number, y?: number): Promise<number> => x + (y ?? 1))(2));
//// regex after a cast type => [false]
const rx = "b" as string; out(/a/.test(rx));
//// object with methods after an interface => [1]
interface Z1 { a: 1 }
const zz = { a(): number { return 1 } } as { a(): number }
out(zz.a())
//// if else without braces around types => [1]
if (true as boolean) out(1 as number)
else out(2 as number)
//// do while with a cast => [1]
let dw = 0
do dw++
while ((dw as number) < 1)
out(dw)
//// arrow returning a conditional with casts => ["s"]
const cond = (v: unknown) => typeof v === "string" ? "s" as const : "n" as const
out(cond("x"))
//// line separator in a type => [1]
type LS = 1 |  2; const ls: LS = 1; out(ls);
//// an asserted object that is cast again as the body of an arrow function => [{"a":1},{"b":2},{"c":3}]
const again1 = () => <any>{ a: 1 } as any, again2 = () => <any>{ b: 2 } satisfies any as any;
const again3 = [() => <any>{ c: 3 } as any];
out(again1()); out(again2()); out(again3[0]!());
//// an asserted function that is cast again as a statement => [1]
<any>function () { out("never") } as any;
<any>class { static { out(1) } } satisfies any;
//// an asserted object that is cast again where it is safe => [{"a":1},{"b":2},[{"c":3}]]
const safe1 = <any>{ a: 1 } as any;
let safe2: any;
safe2 = <any>{ b: 2 } as any;
out(safe1); out(safe2); out([<any>{ c: 3 } as any]);
//// cast before a line separator and a parenthesis => [1]
const sep1 = 1 as any (0)
out(sep1)
//// cast before a comment that a line separator ends => [1]
const sep2 = 1 as any // so (0)
out(sep2)
//// cast before a wide space and a new line => [1]
const sep3 = 1 as any　
(0)
out(sep3)
//// cast before a comparison on the next line => [false,false]
const cmp1: any = 5, U1: any = 3
const cmp2 = cmp1 as any
< U1 > (0)
out(cmp2)
const cmp3 = cmp1 satisfies any
< U1 > (0)
out(cmp3)
//// cast to a named type before a comparison on the next line => [false]
type Named1 = any
const cmp4: any = 5, U2: any = 3
const cmp5 = cmp4 as Named1
< U2 > (0)
out(cmp5)
//// variable with a named type before an assertion on the next line => [1]
type Named2 = any
let late: Named2
<any>out(1)
//// a cast that ended an operand => [[9,-8,true,3]]
const two: any = 2;
out([1 + 2 as number * 3, 2 - two as number * 4 - 8, (1 < 2 as any) as boolean, 1 + 2 as any | 0]);
