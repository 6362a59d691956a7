// How arguments of the web interfaces become strings and lists, and how an interface is finished.
// The rules are those of Web IDL.

const {
  ArrayPrototype, String, SymbolIterator, TypeError, apply, getPrototypeOf, hasOwn, isArray, toWellFormed,
} = internal.primordials;

const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";
const toText = (value) => {
  if (typeof value === "symbol") throw new TypeError("A symbol cannot be converted to a string");
  return toWellFormed(String(value));
};
const needArguments = (given, needed, name) => {
  if (given < needed) throw new TypeError(name + " needs " + needed + " argument(s), got " + given);
};

// Calls visit(item) for each item of an iterable; false if the value is not iterable. A plain array is
// read by index, without asking the iterator that a program may have replaced.
const visitItems = (value, visit) => {
  if (isArray(value) && getPrototypeOf(value) === ArrayPrototype && !hasOwn(value, SymbolIterator)) {
    for (let i = 0; i < value.length; i++) visit(value[i]);
    return true;
  }
  const method = value[SymbolIterator];
  if (method === undefined || method === null) return false;
  const iterator = apply(method, value, []);
  for (const next = iterator.next; ; ) {
    const step = apply(next, iterator, []);
    if (!isObject(step)) throw new TypeError("An iterator returned something that is not an object");
    if (step.done) return true;
    visit(step.value);
  }
};

// Web IDL members are enumerable, those of a class are not. Runs at load, before any program.
const finishInterface = (type, name) => {
  for (const owner of [type, type.prototype]) {
    for (const [key, member] of Object.entries(Object.getOwnPropertyDescriptors(owner))) {
      if (key === "constructor" || !(member.get || typeof member.value === "function")) continue;
      Object.defineProperty(owner, key, { enumerable: true });
    }
  }
  Object.defineProperty(type.prototype, Symbol.toStringTag, { value: name, configurable: true });
};

internal.conversions = { __proto__: null, finishInterface, isObject, needArguments, toText, visitItems };
