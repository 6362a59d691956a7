// structuredClone, as HTML defines it.
//
// The walk keeps its own stack of frames, so depth costs heap and not engine stack. Objects are told
// apart by following their prototype chain to an intrinsic prototype and then reading the internal slot;
// an object whose prototype was cut off counts as plain, and so do arguments objects; a Proxy, which no
// JavaScript can recognise, is what it pretends to be. A transfer is a copy that detaches the original.

const {
  Array, ArrayBuffer, DOMException, DataView, Date, Map, Object, ObjectPrototype, RegExp, Set, String,
  TypeError, Uint8Array, append, bufferByteLength, bufferDetached, bufferMaxByteLength, bufferResizable,
  bufferTransfer, dataViewBuffer, dataViewByteLength, dataViewByteOffset, dateGetTime, define,
  getOwnPropertyDescriptor, getPrototypeOf, getter, hasOwn, isArray, isError, isView, keys, mapForEach,
  mapGet, mapHas, mapSet, mapSize, regexpSource, setAdd, setForEach, setSize, typedArrayBuffer,
  typedArrayByteOffset, typedArrayLength, typedArrayName, typedArraySet, uncurry,
} = internal.primordials;
const { isObject, needArguments, visitItems } = internal.conversions;
const { viewState } = internal; // undefined: outside of its buffer; true: as long as its buffer

const DETACHED = "A detached ArrayBuffer";
const refuse = (what) => {
  throw new DOMException(what + " cannot be cloned", "DataCloneError");
};
const byName = (types) => Object.assign({ __proto__: null }, ...types.map((type) => ({ [type.name]: type })));
const errors = byName([Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError]);
const typedArrays = byName([
  Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array,
  BigInt64Array, BigUint64Array, Float16Array, Float32Array, Float64Array,
]);
const errorStack = getter(Error, "stack");
const exceptionName = getter(DOMException, "name"), exceptionMessage = getter(DOMException, "message");
// The flags accessor asks the public properties again, so each flag is read on its own.
const regexpFlags = [
  "hasIndices", "global", "ignoreCase", "multiline", "dotAll", "unicode", "unicodeSets", "sticky",
].map((key, i) => ({ __proto__: null, flag: "dgimsuvy"[i], isSet: getter(RegExp, key) }));

// The clone of one value. Containers come back empty, with a frame on the walk that will fill them.
const cloneOf = (value, walk) => {
  if (typeof value === "symbol" || typeof value === "function") refuse("A " + typeof value);
  if (typeof value !== "object" || value === null) return value;
  const known = mapGet(walk.seen, value);
  if (known !== undefined) return known;
  const copy = clonerOf(value)(value, walk);
  mapSet(walk.seen, value, copy);
  return copy;
};
const clonerOf = (value) => {
  if (isArray(value)) return cloneProperties;
  if (isView(value)) return cloneView;
  for (let at = getPrototypeOf(value); at !== null && at !== ObjectPrototype; at = getPrototypeOf(at)) {
    const kind = mapGet(kinds, at);
    if (kind === undefined) continue;
    try {
      kind.probe(value);
    } catch {
      break; // it only inherits from the prototype
    }
    return kind.clone;
  }
  return isError(value) ? cloneError : cloneProperties;
};

const cloneProperties = (value, walk) =>
  pushFrame(walk, addProperty, value, isArray(value) ? new Array(value.length) : {}, keys(value));
const cloneMap = (value, walk) => {
  const items = [];
  mapForEach(value, (item, key) => {
    append(items, key);
    append(items, item);
  });
  return pushFrame(walk, addEntry, value, new Map(), items);
};
const cloneSet = (value, walk) => {
  const items = [];
  setForEach(value, (item) => append(items, item));
  return pushFrame(walk, addMember, value, new Set(), items);
};
const cloneError = (value, walk) => {
  const copy = new (errors[String(value.name)] ?? errors.Error)();
  const message = getOwnPropertyDescriptor(value, "message");
  if (message !== undefined && hasOwn(message, "value")) define(copy, "message", String(message.value), false);
  const own = getOwnPropertyDescriptor(value, "stack");
  const stack = own !== undefined && hasOwn(own, "value") ? own.value : errorStack(value);
  if (typeof stack === "string") define(copy, "stack", stack, false);
  return hasOwn(value, "cause") ? pushFrame(walk, addCause, value, copy, ["cause"]) : copy;
};
const cloneRegExp = (value) => {
  let flags = "";
  for (let i = 0; i < regexpFlags.length; i++) if (regexpFlags[i].isSet(value)) flags += regexpFlags[i].flag;
  return new RegExp(regexpSource(value), flags);
};
const cloneBuffer = (value) => {
  if (bufferDetached(value)) refuse(DETACHED);
  const maxByteLength = bufferResizable(value) ? bufferMaxByteLength(value) : undefined;
  const copy = new ArrayBuffer(bufferByteLength(value), { __proto__: null, maxByteLength });
  typedArraySet(new Uint8Array(copy), new Uint8Array(value));
  return copy;
};
const cloneView = (value, walk) => {
  const follows = viewState(value), name = typedArrayName(value);
  if (follows === undefined) refuse("A view that is detached or lies outside its ArrayBuffer");
  const buffer = cloneOf(name === undefined ? dataViewBuffer(value) : typedArrayBuffer(value), walk);
  if (name === undefined) {
    return new DataView(buffer, dataViewByteOffset(value), follows ? undefined : dataViewByteLength(value));
  }
  return new typedArrays[name](buffer, typedArrayByteOffset(value), follows ? undefined : typedArrayLength(value));
};

// A frame fills a copy: add(frame, item, walk) takes one item of the source and adds its clone.
const pushFrame = (walk, add, source, copy, items) => {
  walk.top = { __proto__: null, add, source, copy, items, next: 0, key: undefined, below: walk.top };
  return copy;
};
const addProperty = (frame, key, walk) => {
  // A getter that ran before may have deleted it.
  if (hasOwn(frame.source, key)) define(frame.copy, key, cloneOf(frame.source[key], walk));
};
const addCause = (frame, key, walk) => define(frame.copy, key, cloneOf(frame.source[key], walk), false);
const addMember = (frame, item, walk) => setAdd(frame.copy, cloneOf(item, walk));
const addEntry = (frame, item, walk) => {
  const copy = cloneOf(item, walk);
  if (frame.next % 2 === 1) frame.key = copy; // next is already past the item
  else mapSet(frame.copy, frame.key, copy);
};

// Prototype -> how its objects are cloned; probe(value) throws unless the value has the internal slot.
const kinds = new Map();
const addKind = (type, probe, clone) => mapSet(kinds, type.prototype, { __proto__: null, probe, clone });
const refuseToClone = (prototype, name) => addKind({ prototype }, () => {}, () => refuse("A " + name));
addKind(Map, mapSize, cloneMap);
addKind(Set, setSize, cloneSet);
addKind(RegExp, regexpSource, cloneRegExp);
addKind(ArrayBuffer, bufferByteLength, cloneBuffer);
addKind(Date, dateGetTime, (value) => new Date(dateGetTime(value)));
addKind(DOMException, exceptionName, (it) => new DOMException(exceptionMessage(it), exceptionName(it)));
for (const type of [Boolean, Number, String, BigInt]) {
  const unwrap = uncurry(type.prototype.valueOf);
  addKind(type, unwrap, (value) => Object(unwrap(value)));
}
const refused = "FinalizationRegistry Promise SharedArrayBuffer Symbol WeakMap WeakRef WeakSet";
for (const name of refused.split(" ")) {
  if (name in globalThis) refuseToClone(globalThis[name].prototype, name); // a build may leave some out
}
for (const sample of [
  [].values(), "".matchAll(/x/g), new Map().keys(), new Set().keys(),
  (function* () {}).prototype, (async function* () {}).prototype,
]) refuseToClone(getPrototypeOf(sample), "generator or built-in iterator");

const readTransfers = (options) => {
  const list = [], seen = new Map();
  if (options === undefined || options === null) return list;
  const transfer = isObject(options) ? options.transfer : null;
  const add = (item) => {
    if (!isObject(item)) throw new TypeError("The transfer list holds a value that is not an object");
    if (clonerOf(item) !== cloneBuffer || mapHas(seen, item)) refuse("What is no ArrayBuffer, or listed twice,");
    mapSet(seen, item, true);
    append(list, item);
  };
  const usable = transfer === undefined || (isObject(transfer) && visitItems(transfer, add));
  if (!usable) throw new TypeError("The options of structuredClone are { transfer: an iterable of ArrayBuffers }");
  return list;
};

const { structuredClone } = { // a method, so that it is no constructor
  structuredClone(value, options = undefined) {
    needArguments(arguments.length, 1, "structuredClone");
    const transfers = readTransfers(options);
    const walk = { __proto__: null, seen: new Map(), top: null };
    const copy = cloneOf(value, walk);
    while (walk.top !== null) {
      const frame = walk.top;
      if (frame.next === frame.items.length) walk.top = frame.below;
      else frame.add(frame, frame.items[frame.next++], walk);
    }
    // Nothing is detached unless everything could be cloned.
    for (let i = 0; i < transfers.length; i++) if (bufferDetached(transfers[i])) refuse(DETACHED);
    for (let i = 0; i < transfers.length; i++) bufferTransfer(transfers[i]);
    return copy;
  },
};
internal.refuseToClone = refuseToClone;
internal.expose("structuredClone", structuredClone);
