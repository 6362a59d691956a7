// localeCompare: the order in which people look things up, for Latin letters. Blanks and signs come before
// digits, digits before letters; letters differ first by themselves, then by their marks, then by their case.

const { TypeError, append, charCodeAt, define, fromCodePoint, normalize, slice, toLowerCase } = internal.primordials;
const { toText } = internal.conversions;
const { ignoreOptions, optionsOf, serve } = internal.locales;

// Languages whose order of Latin letters this is.
const LOCALES = { __proto__: null };
for (const language of ["en", "de", "fr", "it", "nl", "pt", "id", "ms", "ga"])
  LOCALES[language] = LOCALES[language + "-*"] = 1;
const NOT_HERE = ["ignorePunctuation", "collation"];
const SIGNS = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789";
const LETTERS = 100, OTHERS = 200;
const DIGIT = SIGNS.indexOf("0");
const SPELLED = { __proto__: null, ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", þ: "th" };

const WEIGHTS = [];
for (let c = 0; c < 128; c++) {
  const sign = SIGNS.indexOf(String.fromCharCode(c)), letter = (c | 32) - 97;
  WEIGHTS.push(c >= 65 && letter >= 0 && letter < 26 ? LETTERS + letter : sign);
}

// Marks in their order: acute, grave, breve, circumflex, caron, ring, diaeresis; the others follow.
const MARKS = [];
for (let c = 0; c < 0x70; c++) {
  const rank = "\u0301\u0300\u0306\u0302\u030c\u030a\u0308\u030b\u0303\u0307".indexOf(String.fromCharCode(0x300 + c));
  MARKS.push(rank < 0 ? 0x10 + c : rank);
}

const isDigit = (c) => c >= 48 && c <= 57;
const isUpper = (c) => c >= 65 && c <= 90;

// The weights of a text: of its letters, of their marks, of their case.
const keyOf = (given, isNumeric) => {
  const text = normalize(given, "NFD"), key = { letters: [], marks: [], cases: [] };
  for (let i = 0; i < text.length; i++) {
    const c = charCodeAt(text, i);
    if (c >= 0x300 && c < 0x370) {
      append(key.marks, MARKS[c - 0x300] - key.letters.length * 0x100); // earlier is greater
    } else if (isNumeric && isDigit(c)) {
      let end = i;
      while (end < text.length && isDigit(charCodeAt(text, end))) end++;
      while (i < end - 1 && charCodeAt(text, i) === 48) i++;
      append(key.letters, DIGIT);
      append(key.letters, end - i);
      for (; i < end; i++) append(key.letters, charCodeAt(text, i));
      i--;
    } else if (c < 128) {
      append(key.letters, WEIGHTS[c]);
      if (isUpper(c)) append(key.cases, -key.letters.length);
    } else {
      addOther(key, fromCodePoint(c));
    }
  }
  return key;
};
const addOther = (key, char) => {
  const lower = toLowerCase(char), spelled = SPELLED[lower];
  if (lower !== char) append(key.cases, -1 - key.letters.length);
  if (spelled === undefined) {
    append(key.letters, OTHERS + charCodeAt(lower, 0));
    return;
  }
  for (let i = 0; i < spelled.length; i++) append(key.letters, WEIGHTS[charCodeAt(spelled, i)]);
  append(key.marks, -key.letters.length * 0x100);
};

const compareLists = (a, b) => {
  for (let i = 0; i < a.length && i < b.length; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
  return a.length === b.length ? 0 : a.length < b.length ? -1 : 1;
};
const compare = (a, b, options) => {
  if (a === b) return 0;
  const sensitivity = options.sensitivity, isNumeric = !!options.numeric;
  let at = 0;
  while (at < a.length && at < b.length && charCodeAt(a, at) === charCodeAt(b, at)) at++;
  // back to where a letter, or a number, begins
  const belongs = (text) => {
    const c = at < text.length ? charCodeAt(text, at) : 0;
    return c >= 128 || (isNumeric && isDigit(c));
  };
  while (at > 0 && (belongs(a) || belongs(b))) at--;
  const x = keyOf(slice(a, at), isNumeric), y = keyOf(slice(b, at), isNumeric);
  const letters = compareLists(x.letters, y.letters);
  if (letters !== 0 || sensitivity === "base") return letters;
  const marks = sensitivity === "case" ? 0 : compareLists(x.marks, y.marks);
  if (marks !== 0 || sensitivity === "accent") return marks;
  const cases = compareLists(x.cases, y.cases);
  return options.caseFirst === "upper" ? 0 - cases : cases;
};

const textOf = (value) => (typeof value === "string" ? value : toText(value));
const methods = {
  localeCompare(that, locales = undefined, given = undefined) {
    if (this === undefined || this === null) throw new TypeError("localeCompare needs a text");
    const own = textOf(this), other = textOf(that), options = optionsOf(given);
    serve(locales, LOCALES, "localeCompare");
    ignoreOptions(options, NOT_HERE, "localeCompare");
    return compare(own, other, options);
  },
};
define(String.prototype, "localeCompare", methods.localeCompare, false);
