// Calls what a program can reach with the subject, in several forms, from the number on that it is told; says before each which it is.
const grown = (first, levels, around) => {
  let made = first;
  for (let i = 0; i < levels; i++) made = around(made);
  return made;
};
const make = (SUBJECTS).SUBJECT;
const operations = OPERATIONS;
const found = [], seen = new Set();
const HOST = /^globalThis\.(tools|text|json|console|yield_control|setTimeout|API|MCP|namespaces|ALL_TOOLS|crypto)/;
const CHANGES =
  /set|define|freeze|seal|prevent|push|pop|shift|splice|sort|reverse|fill|copyWithin|assign|delete|transfer|resize|clear|add|next|return|throw|dispose|move|use|append|compile|bind/i;

const walk = (value, path) => {
  if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value) || HOST.test(path)) return;
  seen.add(value);
  if (typeof value === "function") found.push([path, value]);
  walk(Object.getPrototypeOf(value), path + ".[[Prototype]]");
  for (const key of Reflect.ownKeys(value)) {
    const { value: inner, get, set } = Object.getOwnPropertyDescriptor(value, key);
    const at = `${path}.${String(key)}`;
    walk(inner, at);
    walk(get, at + "<get>");
    walk(set, at + "<set>");
  }
};

// something that the methods of a class accept as `this`
const samples = {
  Array: () => [3, 1, 2], String: () => "abcabc", RegExp: () => /(a+)b/g, Map: () => new Map([[1, 2]]), Set: () => new Set([1]),
  WeakMap: () => new WeakMap(), WeakSet: () => new WeakSet(), Date: () => new Date(0), Number: () => 5, BigInt: () => 5n,
  Promise: () => Promise.resolve(1), Uint8Array: () => new Uint8Array(8), ArrayBuffer: () => new ArrayBuffer(8),
  DataView: () => new DataView(new ArrayBuffer(8)), Function: () => function () {}, Symbol: () => Symbol("x"), Error: () => new Error("x"),
  URL: () => new URL("http://a/"), URLSearchParams: () => new URLSearchParams("a=b"), TextEncoder: () => new TextEncoder(),
  TextDecoder: () => new TextDecoder(), DisposableStack: () => new DisposableStack(), Iterator: () => [1, 2, 3].values(),
};
const sampleFor = (path) => (samples[/^globalThis\.(\w+)\./.exec(path)?.[1]] ?? (() => new Uint8Array(8)))();
const forms = [
  (f, path, subject) => f.call(subject),
  (f, path, subject) => f.call(subject, subject),
  (f, path, subject) => f.call(subject, () => 0),
  (f, path, subject) => f.call(undefined, subject),
  (f, path, subject) => Reflect.construct(f, [subject]),
  (f, path, subject) => f.call(sampleFor(path), subject),
  (f, path, subject) => f.call(sampleFor(path), subject, subject),
];

walk(globalThis, "globalThis");
// a getter takes no arguments
const formsOf = (path) => (path.endsWith("<get>") ? forms.slice(0, 1) : forms);
const all = found.flatMap(([path, f]) => formsOf(path).map((form, i) => [`${path} form ${i}`, (subject) => form(f, path, subject)]));
for (const name in operations) all.push(["operation " + name, operations[name]]);
let subject = make();
const canChange = Object(subject) === subject;
for (let at = await tools.call("start"); at < all.length; at++) {
  const [name, call] = all[at];
  json([at, name]);
  try {
    const result = call(subject, subject);
    if (result instanceof Promise) result.catch(() => 0);
    if (typeof result?.next === "function") result.next();
  } catch {}
  if (canChange && (CHANGES.test(name) || name.startsWith("operation"))) subject = make();
}
json([all.length, ""]);
