// URL: the class over the records of the parser.

const { TypeError, slice } = internal.primordials;
const { finishInterface, needArguments, toText } = internal.conversions;
const { URLSearchParams, linkToUrl, replacePairs } = internal.searchParams;
const { hostAndPort, origin, parse, serialize, setters, without } = internal.urlParser;

// The record of a URL that may be relative to a base; null if one of them is no URL.
const parseWithBase = (url, base) => {
  if (base === undefined) return parse(url, null);
  const record = parse(base, null);
  return record === null ? null : parse(url, record);
};
const optionalText = (value) => (value === undefined ? undefined : toText(value));
const quote = (text) => '"' + (text.length > 200 ? slice(text, 0, 200) + "..." : text) + '"';
const orThrow = (record, url, base) => {
  if (record !== null) return record;
  throw new TypeError("Invalid URL: " + quote(url) + (base === undefined ? "" : " with base " + quote(base)));
};

let recordOf;

class URL {
  #record;
  #params = null;
  static { recordOf = (url) => url.#record; }

  constructor(url, base = undefined) {
    needArguments(arguments.length, 1, "URL");
    url = toText(url);
    base = optionalText(base);
    this.#record = orThrow(parseWithBase(url, base), url, base);
  }
  static canParse(url, base = undefined) {
    needArguments(arguments.length, 1, "URL.canParse");
    return parseWithBase(toText(url), optionalText(base)) !== null;
  }
  static parse(url, base = undefined) {
    needArguments(arguments.length, 1, "URL.parse");
    const record = parseWithBase(toText(url), optionalText(base));
    if (record === null) return null;
    const made = new URL("about:blank");
    made.#record = record;
    return made;
  }

  get href() { return serialize(this.#record); }
  set href(value) {
    const text = toText(value);
    this.#record = orThrow(parse(text, null), text);
    if (this.#params !== null) replacePairs(this.#params, this.#record.query ?? "");
  }
  get search() { return this.#record.query ? "?" + this.#record.query : ""; }
  set search(value) {
    const text = toText(value);
    setters.search(this.#record, text);
    if (this.#params !== null) replacePairs(this.#params, without(0x3f, text));
  }
  get searchParams() {
    if (this.#params !== null) return this.#params;
    const params = new URLSearchParams();
    replacePairs(params, this.#record.query ?? "");
    linkToUrl(params, (query) => void (this.#record.query = query === "" ? null : query));
    this.#params = params;
    return params;
  }
  toString() { return serialize(this.#record); }
  toJSON() { return serialize(this.#record); }
}

const readers = {
  origin,
  protocol: (record) => record.scheme + ":",
  username: (record) => record.username,
  password: (record) => record.password,
  host: hostAndPort,
  hostname: (record) => record.host ?? "",
  port: (record) => (record.port === null ? "" : "" + record.port),
  pathname: (record) => record.path,
  hash: (record) => (record.fragment ? "#" + record.fragment : ""),
};
for (const [part, read] of Object.entries(readers)) {
  const write = setters[part];
  const { get, set } = Object.getOwnPropertyDescriptor({
    get [part]() { return read(recordOf(this)); },
    set [part](value) {
      const text = toText(value); // may run program code that replaces the record
      write(recordOf(this), text);
    },
  }, part);
  Object.defineProperty(URL.prototype, part, { get, set: write && set, configurable: true });
}

finishInterface(URL, "URL");
internal.refuseToClone(URL.prototype, "URL");
internal.expose("URL", URL);
