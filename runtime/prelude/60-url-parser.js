// The URL parser and the URL setters of the WHATWG standard, over plain records.
//
// The standard describes a state machine that reads one character at a time. Since "#" always starts the
// fragment and "?" before it always starts the query, both are cut off first, and the states become
// functions that each consume a whole part. A path is kept as text: "" is the empty list of segments,
// "/a/b" the segments a and b. Where the standard returns failure, functions here return false or null.

const { charCodeAt, indexOf, lastIndexOf, slice, toLowerCase } = internal.primordials;
const {
  CONTROL, FRAGMENT, PATH, QUERY, SPECIAL_QUERY, USERINFO, encode, isAlpha, isDigit, readDigits, rewrite,
} = internal.text;
const { parseHost } = internal;

// Scheme -> default port; file has none.
const defaultPorts = { __proto__: null, ftp: 21, file: null, http: 80, https: 443, ws: 80, wss: 443 };
const isSpecial = (url) => defaultPorts[url.scheme] !== undefined;
const SLASH = 0x2f, BACKSLASH = 0x5c, COLON = 0x3a;
const isSlash = (code, url) => code === SLASH || (code === BACKSLASH && isSpecial(url));
const removeTabs = (text) => {
  if (indexOf(text, "\t") < 0 && indexOf(text, "\n") < 0 && indexOf(text, "\r") < 0) return text; // the usual case
  return rewrite(text, (code) => (code === 9 || code === 10 || code === 13 ? "" : undefined));
};
const trim = (text) => {
  let start = 0, end = text.length;
  while (start < end && charCodeAt(text, start) <= 0x20) start++;
  while (end > start && charCodeAt(text, end - 1) <= 0x20) end--;
  return slice(text, start, end);
};

// A record, or null if the text is no URL. `base` is a record or null.
const parse = (input, base) => {
  const url = {
    __proto__: null, scheme: "", username: "", password: "", host: null, port: null,
    path: "", opaque: false, query: null, fragment: null,
  };
  const text = removeTabs(trim(input));
  const hash = indexOf(text, "#"), hashless = hash < 0 ? text : slice(text, 0, hash);
  const mark = indexOf(hashless, "?"), rest = mark < 0 ? hashless : slice(hashless, 0, mark);
  const query = mark < 0 ? null : slice(hashless, mark + 1);
  if (hash >= 0) url.fragment = encode(slice(text, hash + 1), FRAGMENT);
  const colon = schemeEnd(rest);
  if (colon >= 0) {
    url.scheme = toLowerCase(slice(rest, 0, colon));
    if (!parseAfterScheme(url, slice(rest, colon + 1), base, query)) return null;
  } else {
    if (base === null || (base.opaque && (rest !== "" || query !== null || hash < 0))) return null;
    url.scheme = base.scheme;
    if (!parseRelative(url, rest, base)) return null;
  }
  if (query !== null) setQuery(url, query);
  return url;
};

// Where the scheme's colon is, or -1.
const schemeEnd = (text) => {
  for (let i = 0; i < text.length; i++) {
    const code = charCodeAt(text, i);
    if (isAlpha(code)) continue;
    const allowed = isDigit(code) || code === 0x2b || code === 0x2d || code === 0x2e;
    if (i === 0 || !allowed) return i > 0 && code === COLON ? i : -1;
  }
  return -1;
};
const setQuery = (url, text) => void (url.query = encode(text, isSpecial(url) ? SPECIAL_QUERY : QUERY));

const parseAfterScheme = (url, rest, base, query) => {
  const twoSlashes = indexOf(rest, "//") === 0;
  if (isSpecial(url)) {
    const related = base !== null && base.scheme === url.scheme;
    if (url.scheme === "file") return parseFile(url, rest, related ? base : null);
    return related && !twoSlashes ? parseRelative(url, rest, base) : parseAuthority(url, rest, 0);
  }
  if (twoSlashes) return parseAuthority(url, rest, 2);
  if (charCodeAt(rest, 0) === SLASH) return parsePath(url, slice(rest, 1));
  url.opaque = true;
  url.path = encode(rest, CONTROL);
  // A space that would end the URL once query and fragment are gone is escaped.
  const followed = query !== null || url.fragment !== null;
  if (followed && charCodeAt(rest, rest.length - 1) === 0x20) url.path = slice(url.path, 0, -1) + "%20";
  return true;
};

const parseRelative = (url, rest, base) => {
  if (url.scheme === "file") return parseFile(url, rest, base);
  const rooted = isSlash(charCodeAt(rest, 0), url);
  if (rooted && isSlash(charCodeAt(rest, 1), url)) return parseAuthority(url, rest, 2);
  url.username = base.username;
  url.password = base.password;
  url.host = base.host;
  url.port = base.port;
  return rooted ? parsePath(url, slice(rest, 1)) : resolvePath(url, rest, base);
};

// The path of the base, with its last segment replaced unless there is nothing to replace it with.
const resolvePath = (url, rest, base) => {
  url.path = base.path;
  if (rest !== "") {
    shortenPath(url);
    return parsePath(url, rest);
  }
  url.opaque = base.opaque;
  url.query = base.query;
  return true;
};

const parseAuthority = (url, rest, start) => {
  if (isSpecial(url)) while (isSlash(charCodeAt(rest, start), url)) start++; // any number of slashes will do
  const end = authorityEnd(rest, start, url);
  const text = slice(rest, start, end), at = lastIndexOf(text, "@");
  if (at >= 0) {
    const colon = indexOf(text, ":"), nameEnd = colon < 0 || colon > at ? at : colon;
    url.username = encode(slice(text, 0, nameEnd), USERINFO);
    url.password = encode(slice(text, nameEnd + 1, at), USERINFO);
    if (at === text.length - 1) return false;
  }
  const hostText = slice(text, at + 1), colon = portColon(hostText);
  const name = colon < 0 ? hostText : slice(hostText, 0, colon);
  if (name === "" && (colon >= 0 || isSpecial(url))) return false;
  url.host = parseHost(name, isSpecial(url));
  if (url.host === null || (colon >= 0 && !setPort(url, slice(hostText, colon + 1)))) return false;
  return startPath(url, slice(rest, end));
};

const authorityEnd = (text, start, url) => {
  for (let end = start; end < text.length; end++) {
    const code = charCodeAt(text, end);
    if (isSlash(code, url) || code === 0x3f || code === 0x23) return end;
  }
  return text.length;
};
// The first colon that is not inside the brackets of an IPv6 address.
const portColon = (text) => {
  for (let i = 0, inside = false; i < text.length; i++) {
    const code = charCodeAt(text, i);
    if (code === COLON && !inside) return i;
    if (code === 0x5b || code === 0x5d) inside = code === 0x5b;
  }
  return -1;
};
const setPort = (url, text) => {
  if (text === "") return true;
  const port = readDigits(text, 10);
  if (port === null || port > 65535) return false;
  url.port = port === defaultPorts[url.scheme] ? null : port;
  return true;
};

const parseFile = (url, rest, base) => {
  const rooted = isSlash(charCodeAt(rest, 0), url);
  url.host = "";
  if (rooted && isSlash(charCodeAt(rest, 1), url)) {
    const text = slice(rest, 2), end = authorityEnd(text, 0, url);
    if (end === 2 && startsWithDrive(text)) return parsePath(url, text); // "file://C:/x" has no host
    return parseFileHost(url, slice(text, 0, end)) && startPath(url, slice(text, end));
  }
  const path = rooted ? slice(rest, 1) : rest;
  if (base === null) return parsePath(url, path);
  url.host = base.host;
  if (startsWithDrive(path)) return parsePath(url, path);
  if (!rooted) return resolvePath(url, path, base);
  if (hasDrive(base.path)) url.path = slice(base.path, 0, 3);
  return parsePath(url, path);
};
const parseFileHost = (url, text) => {
  const host = text === "" ? "" : parseHost(text, true);
  if (host !== null) url.host = host === "localhost" ? "" : host;
  return host !== null;
};
// "C:" or "C|", alone or before a slash.
const startsWithDrive = (text) => {
  const second = charCodeAt(text, 1), third = charCodeAt(text, 2);
  if (!isAlpha(charCodeAt(text, 0)) || (second !== COLON && second !== 0x7c)) return false;
  return text.length === 2 || third === SLASH || third === BACKSLASH;
};
// Whether the first segment of a path is a drive, as in "/C:/x".
const hasDrive = (path) => charCodeAt(path, 2) === COLON && startsWithDrive(slice(path, 1));

const startPath = (url, rest) => {
  if (isSlash(charCodeAt(rest, 0), url)) return parsePath(url, slice(rest, 1));
  return (rest === "" && !isSpecial(url)) || parsePath(url, rest);
};
const shortenPath = (url) => {
  if (url.scheme === "file" && url.path.length === 3 && hasDrive(url.path)) return;
  if (url.path !== "") url.path = slice(url.path, 0, lastIndexOf(url.path, "/"));
};
// Appends the segments of the text to the path.
const parsePath = (url, text) => {
  for (let i = 0, start = 0; i <= text.length; i++) {
    const last = i === text.length;
    if (!last && !isSlash(charCodeAt(text, i), url)) continue;
    const segment = slice(text, start, i), dots = dotCount(segment);
    if (dots === 2) shortenPath(url);
    if (dots === 0) {
      const drive = url.scheme === "file" && url.path === "" && i === start + 2 && startsWithDrive(segment);
      url.path += "/" + (drive ? slice(segment, 0, 1) + ":" : encode(segment, PATH));
    } else if (last) url.path += "/";
    start = i + 1;
  }
  return true;
};
// 1 for ".", 2 for "..", each dot also as %2e; 0 for any other segment.
const dotCount = (segment) => {
  let dots = 0;
  for (let i = 0; i < segment.length; dots++) {
    const dot = charCodeAt(segment, i) === 0x2e;
    if (dots === 2 || (!dot && toLowerCase(slice(segment, i, i + 3)) !== "%2e")) return 0;
    i += dot ? 1 : 3;
  }
  return dots;
};

const hasCredentials = (url) => url.username !== "" || url.password !== "";
const hostAndPort = (url) => (url.host ?? "") + (url.port === null ? "" : ":" + url.port);
const serialize = (url) => {
  let out = url.scheme + ":";
  if (url.host !== null) {
    out += "//" + url.username + (url.password === "" ? "" : ":" + url.password);
    out += (hasCredentials(url) ? "@" : "") + hostAndPort(url);
  } else if (!url.opaque && indexOf(url.path, "//") === 0) out += "/."; // or the path would read as a host
  out += url.path + (url.query === null ? "" : "?" + url.query);
  return url.fragment === null ? out : out + "#" + url.fragment;
};
const origin = (url) => {
  const inner = url.scheme === "blob" ? parse(url.path, null) : url;
  if (inner === null || !isSpecial(inner) || inner.scheme === "file") return "null";
  const opaque = inner !== url && inner.scheme !== "http" && inner.scheme !== "https";
  return opaque ? "null" : inner.scheme + "://" + hostAndPort(inner);
};

// The setters change the record, or leave it as it is where the value does not fit.
const cannotHavePort = (url) => url.host === null || url.host === "" || url.scheme === "file";
const without = (mark, text) => (charCodeAt(text, 0) === mark ? slice(text, 1) : text);
const setHost = (url, value, withPort) => {
  if (url.opaque) return;
  const text = removeTabs(value), name = slice(text, 0, authorityEnd(text, 0, url));
  if (url.scheme === "file") return void parseFileHost(url, name);
  const colon = portColon(name), hostText = colon < 0 ? name : slice(name, 0, colon);
  if (colon >= 0 && !withPort) return;
  if (hostText === "" && (colon >= 0 || isSpecial(url) || hasCredentials(url) || url.port !== null)) return;
  const host = parseHost(hostText, isSpecial(url));
  if (host === null) return;
  url.host = host;
  if (colon >= 0) setLeadingPort(url, slice(name, colon + 1));
};
const setLeadingPort = (url, text) => {
  let end = 0;
  while (isDigit(charCodeAt(text, end))) end++;
  setPort(url, slice(text, 0, end));
};
const setters = {
  __proto__: null,
  protocol(url, value) {
    const text = removeTabs(value + ":"), colon = schemeEnd(text);
    if (colon < 0) return;
    const scheme = toLowerCase(slice(text, 0, colon));
    if ((defaultPorts[scheme] !== undefined) !== isSpecial(url)) return;
    if (scheme === "file" && (hasCredentials(url) || url.port !== null)) return;
    if (url.scheme === "file" && url.host === "") return;
    url.scheme = scheme;
    if (url.port === defaultPorts[scheme]) url.port = null;
  },
  username: (url, value) => cannotHavePort(url) || (url.username = encode(value, USERINFO)),
  password: (url, value) => cannotHavePort(url) || (url.password = encode(value, USERINFO)),
  host: (url, value) => setHost(url, value, true),
  hostname: (url, value) => setHost(url, value, false),
  port(url, value) {
    if (cannotHavePort(url)) return;
    if (value === "") url.port = null;
    else setLeadingPort(url, removeTabs(value));
  },
  pathname(url, value) {
    if (url.opaque) return;
    const text = removeTabs(value);
    url.path = text === "" && !isSpecial(url) && url.host === null ? "/" : "";
    if (url.path === "") startPath(url, text);
  },
  search(url, value) {
    if (value === "") url.query = null;
    else setQuery(url, removeTabs(without(0x3f, value)));
  },
  hash: (url, value) => (url.fragment = value === "" ? null : encode(removeTabs(without(0x23, value)), FRAGMENT)),
};

internal.urlParser = { __proto__: null, hostAndPort, origin, parse, serialize, setters, without };
