// URLSearchParams: an ordered list of pairs, alone or kept in step with the query of a URL.

const {
  Map, SymbolIterator, TypeError, append, apply, charCodeAt, define, getOwnPropertyDescriptor, getPrototypeOf,
  hasOwn, indexOf, mapForEach, mapSet, ownKeys, slice, sort,
} = internal.primordials;
const { finishInterface, isObject, needArguments, toText, visitItems } = internal.conversions;
const { FORM, decode, encode, rewrite } = internal.text;

const pair = (name, value) => ({ __proto__: null, name, value });
const decodeForm = (text) => decode(rewrite(text, (code) => (code === 0x2b ? " " : undefined)));

const parsePairs = (text) => {
  const pairs = [];
  for (let start = 0, end; start < text.length; start = end + 1) {
    end = indexOf(text, "&", start);
    if (end < 0) end = text.length;
    const piece = slice(text, start, end), equals = indexOf(piece, "=");
    const split = equals < 0 ? piece.length : equals;
    if (piece !== "") append(pairs, pair(decodeForm(slice(piece, 0, split)), decodeForm(slice(piece, split + 1))));
  }
  return pairs;
};
const serializePairs = (pairs) => {
  let out = "";
  for (let i = 0; i < pairs.length; i++) {
    out += (i > 0 ? "&" : "") + encode(pairs[i].name, FORM) + "=" + encode(pairs[i].value, FORM);
  }
  return out;
};

const pairsFromObject = (init) => {
  const pairs = [];
  const isIterable = visitItems(init, (item) => {
    const parts = [];
    const fits = isObject(item) && visitItems(item, (part) => append(parts, toText(part))) && parts.length === 2;
    if (!fits) throw new TypeError("Each query pair must be an iterable of name and value");
    append(pairs, pair(parts[0], parts[1]));
  });
  if (isIterable) return pairs;
  const record = new Map(); // two keys may become one name when lone surrogates are replaced
  const names = ownKeys(init);
  for (let i = 0; i < names.length; i++) {
    const property = getOwnPropertyDescriptor(init, names[i]);
    if (property !== undefined && property.enumerable) mapSet(record, toText(names[i]), toText(init[names[i]]));
  }
  mapForEach(record, (value, name) => append(pairs, pair(name, value)));
  return pairs;
};

const filter = (pairs, wanted) => {
  const kept = [];
  for (let i = 0; i < pairs.length; i++) if (wanted(pairs[i])) append(kept, pairs[i]);
  return kept;
};
// Whether a pair has this name and, if a value is given, this value.
const matcher = (name, value) => {
  name = toText(name);
  if (value !== undefined) value = toText(value);
  return (item) => item.name === name && (value === undefined || item.value === value);
};

let replacePairs, linkToUrl, pairsOf, isParams, isIterator, URLSearchParamsPrototype;

class URLSearchParams {
  #pairs = [];
  #changed = null; // tells the URL, if there is one, its new query

  static {
    URLSearchParamsPrototype = this.prototype; // programs cannot replace it: the property is read-only
    pairsOf = (params) => params.#pairs;
    isParams = (value) => #pairs in value;
    replacePairs = (params, query) => void (params.#pairs = parsePairs(query));
    linkToUrl = (params, changed) => void (params.#changed = changed);
  }

  // Calling it checks the receiver. Arguments are converted before the list is read, since converting
  // them may run program code that changes the list.
  #check(given, needed, method) { needArguments(given, needed, "URLSearchParams." + method); }
  #replace(pairs) {
    this.#pairs = pairs;
    const changed = this.#changed;
    if (changed !== null) changed(serializePairs(pairs));
  }
  #find(given, method, name, value) {
    this.#check(given, 1, method);
    const matches = matcher(name, value);
    return filter(this.#pairs, matches);
  }
  #iterate(read) { return new PairIterator(this, read); }

  constructor(init = "") {
    if (!isObject(init)) {
      const text = toText(init);
      this.#pairs = parsePairs(charCodeAt(text, 0) === 0x3f ? slice(text, 1) : text);
    } else if (#pairs in init && getPrototypeOf(init) === URLSearchParamsPrototype && !hasOwn(init, SymbolIterator)) {
      const pairs = init.#pairs;
      for (let i = 0; i < pairs.length; i++) append(this.#pairs, pair(pairs[i].name, pairs[i].value));
    } else this.#pairs = pairsFromObject(init);
  }

  get size() { return this.#pairs.length; }
  append(name, value) {
    this.#check(arguments.length, 2, "append");
    const added = pair(toText(name), toText(value));
    append(this.#pairs, added);
    this.#replace(this.#pairs);
  }
  delete(name, value = undefined) {
    this.#check(arguments.length, 1, "delete");
    const matches = matcher(name, value);
    this.#replace(filter(this.#pairs, (item) => !matches(item)));
  }
  get(name) {
    const found = this.#find(arguments.length, "get", name);
    return found.length === 0 ? null : found[0].value;
  }
  getAll(name) {
    const found = this.#find(arguments.length, "getAll", name);
    for (let i = 0; i < found.length; i++) found[i] = found[i].value;
    return found;
  }
  has(name, value = undefined) { return this.#find(arguments.length, "has", name, value).length > 0; }
  set(name, value) {
    this.#check(arguments.length, 2, "set");
    const added = pair(toText(name), toText(value));
    let first = null;
    const kept = filter(this.#pairs, (item) => item.name !== added.name || (first ??= item) === item);
    if (first === null) append(kept, added);
    else first.value = added.value;
    this.#replace(kept);
  }
  // By UTF-16 code units, as < compares strings; equal names keep their order.
  sort() { this.#replace(sort(this.#pairs, (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))); }
  forEach(callback, thisArg = undefined) {
    this.#check(arguments.length, 1, "forEach");
    if (typeof callback !== "function") throw new TypeError("URLSearchParams.forEach needs a function");
    // The list is read anew each time: the callback may change it.
    const call = ({ name, value }) => apply(callback, thisArg, [value, name, this]);
    for (let i = 0; i < this.#pairs.length; i++) call(this.#pairs[i]);
  }
  entries() { return this.#iterate((item) => [item.name, item.value]); }
  keys() { return this.#iterate((item) => item.name); }
  values() { return this.#iterate((item) => item.value); }
  toString() { return serializePairs(this.#pairs); }
}

// Programs see its prototype, but nothing there leads to the constructor.
class PairIterator {
  #params;
  #read;
  #next = 0;
  static { isIterator = (value) => #params in value; }
  constructor(params, read) {
    this.#params = params;
    this.#read = read;
  }
  next() {
    const pairs = pairsOf(this.#params), read = this.#read;
    if (this.#next >= pairs.length) return { value: undefined, done: true };
    return { value: read(pairs[this.#next++]), done: false };
  }
}
delete PairIterator.prototype.constructor;
Object.setPrototypeOf(PairIterator.prototype, Iterator.prototype);
finishInterface(PairIterator, "URLSearchParams Iterator");
finishInterface(URLSearchParams, "URLSearchParams");
define(URLSearchParams.prototype, SymbolIterator, URLSearchParams.prototype.entries, false);
internal.refuseToClone(URLSearchParams.prototype, "URLSearchParams");
// What the bridge's JSON has for an object of these classes, whose properties say nothing of it.
internal.describeInstance = (value) => {
  if (isParams(value)) return serializePairs(pairsOf(value));
  return isIterator(value) ? "[URLSearchParams Iterator]" : undefined;
};
internal.searchParams = { __proto__: null, URLSearchParams, linkToUrl, replacePairs };
internal.expose("URLSearchParams", URLSearchParams);
