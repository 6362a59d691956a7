// What there is instead of Intl: texts are en-US and in UTC, whatever locale or time zone is asked for, and
// the host is told what was ignored, so that a note can say so.

const { append, apply, isArray, slice, toLowerCase } = internal.primordials;
const { toText } = internal.conversions;
const tell = internal.ignored; // the shim's; undefined where there is no host

const MOST = 8; // things that are told of one run
const LONGEST = 40;
const told = [];

// what: "locale \"de-DE\"" · where: "toLocaleString"
const ignore = (what, where) => {
  const text = what + " (" + where + ")";
  for (let i = 0; i < told.length; i++) if (told[i] === text) return;
  if (told.length === MOST) return;
  append(told, text);
  if (tell !== undefined) apply(tell, undefined, [text]);
};
const quote = (value) => {
  const text = typeof value === "object" || typeof value === "symbol" ? "…" : toText(value);
  return '"' + (text.length > LONGEST ? slice(text, 0, LONGEST) + "…" : text) + '"';
};

const empty = { __proto__: null };
const optionsOf = (options) => (options === undefined ? empty : options);

// Calls ignore() unless the locale that is asked for is one of `served`: an object with tags in lower case,
// where `de-*` is German of any country.
const serve = (locales, served, where) => {
  const first = isArray(locales) ? (locales.length ? locales[0] : undefined) : locales;
  if (first === undefined || first === null) return;
  if (typeof first === "string") {
    const tag = toLowerCase(first);
    if (served[tag] !== undefined) return;
    if (tag.length > 3 && served[slice(tag, 0, 3) + "*"] !== undefined) return;
  }
  ignore("locale " + quote(first), where);
};

// Calls ignore() for each of these options that is given.
const ignoreOptions = (options, names, where) => {
  for (let i = 0; i < names.length; i++) {
    const value = options[names[i]];
    if (value !== undefined) ignore(names[i] + " " + quote(value), where);
  }
};

internal.locales = { __proto__: null, ignore, ignoreOptions, optionsOf, quote, serve };
