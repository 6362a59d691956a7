// How a case of the prelude's data files is run, in Node (regenerate.mjs) and in the guest's engine alike.
// A case is prepared, then acts, then is reported. Only acting touches what is under test, and it uses
// nothing that a program could have replaced since this file was evaluated: a hostile program may run
// between preparing and acting, as long as it cleans up before reporting.
(() => {
  "use strict";
  const { apply, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
  const { URL, URLSearchParams, structuredClone, eval: evaluate } = globalThis;
  const parts = ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname",
    "search", "hash"];
  const readers = parts.map((part) => getOwnPropertyDescriptor(URL.prototype, part).get);
  const writers = { __proto__: null };
  for (const part of parts) writers[part] = getOwnPropertyDescriptor(URL.prototype, part).set;
  const paramsToString = URLSearchParams.prototype.toString;

  const readParts = (url) => {
    const list = [null, null, null, null, null, null, null, null, null, null, null];
    for (let i = 0; i < list.length; i++) list[i] = apply(readers[i], url, []);
    return list;
  };

  const value = (code) => evaluate('"use strict"; (' + code + "\n)");

  const prepare = (item) => {
    if ("input" in item) {
      const { input, base } = item;
      return () => readParts(base === undefined ? new URL(input) : new URL(input, base));
    }
    if ("href" in item) {
      const { href, set } = item;
      return () => {
        const url = new URL(href);
        for (let i = 0; i < set.length; i++) apply(writers[set[i][0]], url, [set[i][1]]);
        return readParts(url);
      };
    }
    if ("query" in item) {
      const init = value(item.query);
      return () => apply(paramsToString, new URLSearchParams(init), []);
    }
    if ("clone" in item) {
      const original = value(item.clone);
      return () => structuredClone(original);
    }
    if ("on" in item) {
      const on = value(item.on), given = value(item.given);
      const method = Object(on)[item.method];
      return () => apply(method, on, given);
    }
    return () => value(item.code);
  };

  // The outcome of a prepared case, without a prototype: { result } or { threw }.
  const act = (prepared) => {
    try {
      return { __proto__: null, result: prepared() };
    } catch (threw) {
      return { __proto__: null, threw };
    }
  };

  const report = (item, outcome) => {
    if ("threw" in outcome) return { throws: outcome.threw.name };
    return "input" in item || "href" in item ? outcome.result : describe(outcome.result, new Map());
  };

  // Shows types, holes, order and attributes of properties, and which parts are the same object.
  const describe = (it, seen) => {
    if (typeof it === "string") return JSON.stringify(it);
    if (typeof it === "bigint") return it + "n";
    if (typeof it === "function") return "function";
    if (typeof it !== "object" || it === null) return Object.is(it, -0) ? "-0" : String(it);
    if (seen.has(it)) return "#" + seen.get(it);
    seen.set(it, seen.size);
    const type = getPrototypeOf(it) === null ? "null" : getPrototypeOf(it).constructor.name;
    let out = type;
    const wraps = ["Boolean", "Number", "String", "BigInt", "Date"].includes(type);
    if (wraps) out += "(" + describe(it.valueOf(), seen) + ")";
    if (type === "RegExp") out += it;
    if (type === "Map") {
      for (const [key, item] of it) out += "<" + describe(key, seen) + " => " + describe(item, seen) + ">";
    }
    if (type === "Set") for (const item of it) out += "<" + describe(item, seen) + ">";
    if (type === "ArrayBuffer") out += "[" + new Uint8Array(it) + "]";
    if (ArrayBuffer.isView(it)) return out + it.byteOffset + "+" + it.byteLength + describe(it.buffer, seen);
    for (const key of ownKeys(it)) {
      const property = getOwnPropertyDescriptor(it, key);
      if (key === "stack" || (type === "String" && !property.writable)) continue;
      out += " " + (property.enumerable ? "" : "~") + String(key) + ":" + describe(it[key], seen);
    }
    return "{" + out + "}";
  };

  return { prepare, act, report };
})();
