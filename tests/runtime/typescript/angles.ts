//// a shift in the condition of a loop => [0,1]
const half1 = [1, 2, 3, 4];
for (let i = 0; i<half1.length>>>1; i++) out(i);
//// comparisons as arguments => [[true,false]]
const xs2 = [1, 2], i2 = 0, j2 = -1;
out(((...all: any[]) => all)(i2 < xs2.length, j2 > -1));
//// a shift in parentheses and in an array => [true,[true,2]]
const a3: any = 1, b3: any = 4, c3: any = 5;
out((a3 < b3 >> 1)); out([a3 < b3, c3 >> 1]);
//// a sequence of comparisons in a condition => [1]
const a4 = 5, b4 = 4, o4 = { n: 0 };
if (a4 < b4, o4.n > -1) out(1);
for (let y = 1; a4 < b4, y>-1; y -= 2) if (y < 1) { out("never"); break; }
//// signs after what looks like type arguments => [true,true,true,true]
const a5: any = 1, b5: any = 2, c5: any = 0;
out((a5<b5>-c5)); out((a5<b5>+c5)); out((a5 < b5 | c5 > -1) === 1); out((a5 < b5 & c5 > -1) === 1);
//// a bracket after what looks like type arguments => [true]
const a6: any = 1, b6: any = 2, c6: any = 0;
out((a6<b6>[c6]));
//// a shift that assigns among arguments => [[true,2]]
let a7 = 1, b7 = 2, c7 = 4;
out(((...all: any[]) => all)(a7<b7, c7>>=1));
//// an assertion after a comparison => [[true,true]]
const a8 = 1, b8 = 2, c8 = 4;
out(((...all: any[]) => all)(a8 < b8, c8 > <any>1));
//// what the parser takes for types of both sides => [false]
class A9 {}
const b9 = 0, c9 = "u";
out(new A9<b9 && c9 > `t`);
//// type arguments stay type arguments => [1,[2,3],{},4,"x"]
class Foo10<T> {}
const f10 = <T>(x: T): T => x, two10: any = (...all: any[]) => all, o10: any = { m: f10 };
out(f10<number>(1)); out(two10<string, number>(2, 3)); out(new Foo10<number>); out(o10?.m<number>(4));
const g10 = f10<string>;
out(((g: any, h: any) => g(h("x")))(f10<string>, g10<string>));
//// type arguments over lines => [5]
const f11 = <T, U>(x: any) => x;
out(f11<
  string,
  { a: number }
>(5));
//// type arguments before a new line => ["function"]
const f12 = <T>(x: T) => x
const g12 = f12<number>
out(typeof g12)
//// a tag with a union of types => ["a","b","c"]
const tag13 = <T, U = T>(text: TemplateStringsArray): any => text[0];
out(tag13<"a" | "b">`a`); out(tag13<string | null>`b`); out(((x: any) => x)(tag13<string, string>`c`));
//// a tag whose result is used => [1,"b","x",3,"ex"]
const tag14 = <T>(text: TemplateStringsArray): any =>
  text[0] === "a" ? { v: 1 } : text[0] === "d" ? (x: number) => x : text[0];
out(tag14<any>`a`.v); out(tag14<any>`b`[0]); out("x".repeat(tag14<any>`c`.length)); out(tag14<any>`d`(3));
out(tag14<any>`e` + "x");
//// a tag with an object type => ["a"]
const tag15 = <T>(text: TemplateStringsArray): any => text[0];
out(tag15<{ id: number }>`a`);
//// a tag with a type of types => ["a"]
const tag16 = <T>(text: TemplateStringsArray): any => text[0];
out(tag16<<T>(x: T) => T>`a`);
//// an increment is not called => [[false,1]]
let n17 = 0, U17: any = 1;
out([n17++ < U17 > (1 as any), n17]);
