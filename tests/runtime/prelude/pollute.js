// A hostile program: it breaks every intrinsic that can be reached, plants traps on the prototypes that all
// objects share, and hands back a function that undoes it, so that a test can look at what happened.
// `mode` says what becomes of a method: "throw" and "lie" replace it, "delete" removes it.
(mode) => {
  "use strict";
  const {
    defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, setPrototypeOf,
  } = Reflect;
  const Failure = RangeError;
  const spoil = mode === "throw" ? () => { throw new Failure("polluted"); } : () => "polluted";
  const found = new Set();

  const collect = (object) => {
    const isObject = (typeof object === "object" && object !== null) || typeof object === "function";
    if (!isObject || found.has(object)) return;
    found.add(object);
    collect(getPrototypeOf(object));
    for (const key of ownKeys(object)) {
      const { value, get, set } = getOwnPropertyDescriptor(object, key);
      for (const next of [value, get, set]) collect(next);
    }
  };
  const samples = [[].values(), "".matchAll(/x/g), new Map().keys(), new Set().keys(), (function* () {})(),
    (async function* () {})(), async () => {}, new URLSearchParams().keys(), "x"[Symbol.iterator]()];
  collect(globalThis);
  samples.forEach(collect);

  // Everything is planned first: once the first method is gone, no method can be trusted.
  const plan = [];
  for (const object of found) {
    for (const key of ownKeys(object)) {
      const old = getOwnPropertyDescriptor(object, key);
      const harmful = old.get || old.set || typeof old.value === "function" || object === globalThis;
      if (!harmful || !(old.configurable || old.writable)) continue;
      setPrototypeOf(old, null);
      const next = { __proto__: null, configurable: old.configurable, enumerable: old.enumerable };
      if (old.get || old.set) next.get = next.set = spoil;
      else [next.value, next.writable] = [spoil, true];
      plan.push({ __proto__: null, object, key, old, next, erase: mode === "delete" && old.configurable });
    }
  }
  const traps = ["value", "writable", "enumerable", "configurable", "get", "set", "done", "next", "name", "message",
    "href", "host", "query", "port", "scheme", "index", "input", "lastIndex", "flags", "source", "transfer",
    "maxByteLength", "raw", "then", "stack", "cause", "clone", "probe", "top", "seen"];
  for (let i = 0; i < 300; i++) traps.push(String(i));
  for (const object of [Object.prototype, Array.prototype, String.prototype, Function.prototype]) {
    for (const key of traps) {
      if (Object.hasOwn(object, key)) continue;
      const next = { __proto__: null, get: spoil, set: spoil, configurable: true };
      plan.push({ __proto__: null, object, key, old: null, next, erase: false });
    }
  }
  // An element that is missing from an array is now looked up in a proxy.
  const parent = new Proxy({ __proto__: null }, { __proto__: null, get: spoil, set: spoil, has: spoil });

  for (let i = 0; i < plan.length; i++) {
    if (plan[i].erase) deleteProperty(plan[i].object, plan[i].key);
    else defineProperty(plan[i].object, plan[i].key, plan[i].next);
  }
  const arrayPrototype = getPrototypeOf([]);
  const arrayParent = getPrototypeOf(arrayPrototype);
  setPrototypeOf(arrayPrototype, parent);

  return {
    broken: plan.length,
    restore: () => {
      setPrototypeOf(arrayPrototype, arrayParent);
      for (let i = plan.length - 1; i >= 0; i--) {
        if (plan[i].old === null) deleteProperty(plan[i].object, plan[i].key);
        else defineProperty(plan[i].object, plan[i].key, plan[i].old);
      }
    },
  };
}
