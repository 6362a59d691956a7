// What the rest of the prelude is built from: intrinsics, taken while they are still the engine's own.
//
// Programs may later replace, delete or booby-trap every global, prototype, accessor and iterator. So the
// prelude follows these rules, and the pollution tests hold it to them:
// - code that runs after loading names no global, and calls methods as captured functions: slice(text, 1);
// - no for-of, spread, array destructuring or generators (they ask Symbol.iterator), no instanceof, and
//   no `${}`: this engine compiles a template with substitutions to a call of String.prototype.concat;
// - nothing is read that may be missing, except on objects without a prototype: "abc"[9] asks
//   Object.prototype, charCodeAt does not;
// - a new array element is defined with append(): assigning it would run setters of Array.prototype.

const { apply, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
const { bind, call } = Function.prototype;
const TypedArray = getPrototypeOf(Uint8Array);
// fn.call as a function of its own. Calling it looks nothing up, and takes less than half the time of
// an apply() with an array of arguments.
const uncurry = (fn) => apply(bind, call, [fn]);
const getter = (type, key) => uncurry(getOwnPropertyDescriptor(type.prototype, key).get);

// A stack trace hook is handed the functions on the stack, ours included. The engine keeps the hook
// outside this property, so a program that puts the property back sets nothing.
delete Error.prepareStackTrace;

// One descriptor for all definitions: defineProperty only reads it, and no program code runs meanwhile.
const descriptor = { __proto__: null, value: undefined, writable: true, enumerable: true, configurable: true };
const define = (target, key, value, enumerable = true) => {
  descriptor.value = value;
  descriptor.enumerable = enumerable;
  defineProperty(target, key, descriptor);
  descriptor.value = undefined;
};

internal.primordials = {
  __proto__: null,
  Array, ArrayBuffer, DOMException, DataView, Date, Map, Object, RangeError, RegExp, Set, String, TypeError, Uint8Array,
  ArrayPrototype: Array.prototype, ObjectPrototype: Object.prototype, SymbolIterator: Symbol.iterator,
  append: (list, value) => define(list, list.length, value),
  apply, define, encodeURIComponent, getOwnPropertyDescriptor, getPrototypeOf, getter, ownKeys, uncurry,
  floor: Math.floor, fromCodePoint: String.fromCodePoint, hasOwn: Object.hasOwn, keys: Object.keys,
  isArray: Array.isArray, isError: Error.isError, isView: ArrayBuffer.isView,
  typedArrayName: getter(TypedArray, Symbol.toStringTag), // undefined for anything else
};

// Methods and accessors alike become functions of the receiver: take("map", Map, "get") makes mapGet.
const take = (prefix, type, names) => {
  for (const name of names.split(" ")) {
    const { get, value } = getOwnPropertyDescriptor(type.prototype, name);
    const key = prefix === "" ? name : prefix + name[0].toUpperCase() + name.slice(1);
    internal.primordials[key] = uncurry(get ?? value);
  }
};
take("", Array, "sort");
take("", String, "charCodeAt codePointAt indexOf lastIndexOf normalize slice toLowerCase toWellFormed");
take("map", Map, "forEach get has set size");
take("set", Set, "add forEach size");
take("date", Date, "getTime getUTCDate getUTCDay getUTCFullYear getUTCHours getUTCMinutes getUTCMonth getUTCSeconds");
take("number", Number, "valueOf");
take("bigint", BigInt, "valueOf");
take("regexp", RegExp, "source");
take("buffer", ArrayBuffer, "byteLength detached maxByteLength resizable transfer");
take("typedArray", TypedArray, "buffer byteOffset length set");
take("dataView", DataView, "buffer byteLength byteOffset");
