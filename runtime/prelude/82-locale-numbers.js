// toLocaleString of numbers and BigInts: grouping, fraction digits, percent and currency as en-US writes them.
// It rounds half up what the number shows as a decimal, as other engines do: 1.005 is 1.01, not 1.00.

const {
  RangeError, String, TypeError, bigintValueOf, charCodeAt, define, fromCodePoint, indexOf, numberValueOf, slice,
} = internal.primordials;
const { toText } = internal.conversions;
const { ignore, ignoreOptions, optionsOf, quote, serve } = internal.locales;

const LOCALES = { __proto__: null, en: 1, "en-us": 1 };
const NOT_HERE = ["notation", "signDisplay", "currencySign", "unit", "roundingMode", "roundingIncrement",
  "minimumSignificantDigits", "maximumSignificantDigits"];
const SYMBOLS = {
  __proto__: null, USD: "$", EUR: "€", GBP: "£", JPY: "¥", INR: "₹", CNY: "CN¥", KRW: "₩", BRL: "R$", CAD: "CA$",
  AUD: "A$", MXN: "MX$", NZD: "NZ$", HKD: "HK$", ILS: "₪", TWD: "NT$", VND: "₫", PHP: "₱", XCD: "EC$",
};
const DIGITS = {
  __proto__: null, JPY: 0, KRW: 0, VND: 0, CLP: 0, ISK: 0, XAF: 0, XOF: 0, XPF: 0, PYG: 0, UGX: 0, RWF: 0,
  KWD: 3, BHD: 3, JOD: 3, OMR: 3, TND: 3, LYD: 3,
};
const NBSP = "\u00a0";
const MOST_DIGITS = 100;

const zeros = (count) => {
  let text = "";
  while (text.length < count) text += "0";
  return text;
};

// "-1.5e+21" without its sign as 0.15 × 10^22: { digits: "15", point: 22 }
const decimalOf = (text) => {
  const e = indexOf(text, "e"), mantissa = e < 0 ? text : slice(text, 0, e);
  const dot = indexOf(mantissa, ".");
  const whole = dot < 0 ? mantissa : slice(mantissa, 0, dot);
  return {
    digits: whole + (dot < 0 ? "" : slice(mantissa, dot + 1)),
    point: whole.length + (e < 0 ? 0 : +slice(text, e + 1)),
  };
};

// One more in the last place of a text of digits; a place more where all were nines.
const increment = (digits) => {
  let end = digits.length, tail = "";
  while (end > 0 && charCodeAt(digits, end - 1) === 57) {
    end--;
    tail += "0";
  }
  if (end === 0) return "1" + tail;
  return slice(digits, 0, end - 1) + fromCodePoint(charCodeAt(digits, end - 1) + 1) + tail;
};

// Whole and fraction of a decimal with so many places, in digits.
const rounded = ({ digits, point }, places) => {
  const kept = point + places;
  let head = kept <= 0 ? "" : slice(digits, 0, kept);
  const isUp = kept >= 0 && kept < digits.length && charCodeAt(digits, kept) >= 53;
  if (isUp) head = increment(head);
  if (head.length > kept && isUp) point++; // 9.99 -> 10.0
  head += zeros(point + places - head.length);
  if (point <= 0) head = zeros(1 - point) + head, point = 1;
  const whole = slice(head, 0, point);
  let lead = 0;
  while (lead < whole.length - 1 && charCodeAt(whole, lead) === 48) lead++;
  return { whole: slice(whole, lead), fraction: slice(head, point, point + places) };
};

const grouped = (whole) => {
  let text = "", end = whole.length;
  for (; end > 3; end -= 3) text = "," + slice(whole, end - 3, end) + text;
  return slice(whole, 0, end) + text;
};

// ToNumber, as options are read; nothing of the program's is called for a number.
const digitsOption = (options, name, least, most, otherwise) => {
  const value = options[name];
  if (value === undefined) return otherwise;
  const number = +value;
  if (!(number >= least && number <= most)) throw new RangeError(name + " value is out of range.");
  return number - (number % 1);
};

const currencyOf = (options) => {
  if (options.currency === undefined) throw new TypeError("Currency code is required with currency style.");
  const given = toText(options.currency);
  let code = "";
  for (let i = 0; i < given.length; i++) {
    const c = charCodeAt(given, i);
    code += fromCodePoint(c >= 97 && c <= 122 ? c - 32 : c);
    if (!((c >= 65 && c <= 90) || (c >= 97 && c <= 122)) || given.length !== 3)
      throw new RangeError("Invalid currency code : " + quote(given));
  }
  if (code === "") throw new RangeError('Invalid currency code : ""');
  return code;
};

// What stands before the digits and behind them, and how many places there are by default.
const styleOf = (options, where) => {
  const style = options.style === undefined ? "decimal" : toText(options.style);
  if (style === "percent") return { before: "", after: "%", least: 0, most: 0, shift: 2 };
  if (style !== "currency") {
    if (style !== "decimal" && style !== "unit") throw new RangeError("Value " + style + " out of range for style");
    return { before: "", after: "", least: 0, most: 3, shift: 0 };
  }
  const code = currencyOf(options), display = options.currencyDisplay;
  if (display !== undefined && display !== "symbol" && display !== "code")
    ignore("currencyDisplay " + quote(display), where);
  const symbol = display === "code" ? undefined : SYMBOLS[code];
  const places = DIGITS[code] === undefined ? 2 : DIGITS[code];
  return { before: symbol === undefined ? code + NBSP : symbol, after: "", least: places, most: places, shift: 0 };
};

const placesOf = (options, style) => {
  let least = digitsOption(options, "minimumFractionDigits", 0, MOST_DIGITS, undefined);
  let most = digitsOption(options, "maximumFractionDigits", 0, MOST_DIGITS, undefined);
  if (least === undefined) least = most === undefined || most > style.least ? style.least : most;
  if (most === undefined) most = least > style.most ? least : style.most;
  if (least > most) throw new RangeError("maximumFractionDigits value is out of range.");
  return { least, most };
};

// text: of a number or BigInt, as String() gives it.
const format = (text, locales, given) => {
  const where = "toLocaleString of a number", options = optionsOf(given);
  serve(locales, LOCALES, where);
  ignoreOptions(options, NOT_HERE, where);
  const style = styleOf(options, where), { least, most } = placesOf(options, style);
  const wide = digitsOption(options, "minimumIntegerDigits", 1, 21, 1);
  const groups = options.useGrouping;
  if (text === "NaN") return style.before + "NaN" + style.after;
  const sign = charCodeAt(text, 0) === 45 ? "-" : "", bare = sign === "" ? text : slice(text, 1);
  if (bare === "Infinity") return sign + style.before + "∞" + style.after;
  const decimal = decimalOf(bare);
  decimal.point += style.shift;
  let { whole, fraction } = rounded(decimal, most);
  let end = fraction.length;
  while (end > least && charCodeAt(fraction, end - 1) === 48) end--;
  whole = zeros(wide - whole.length) + whole;
  if (groups !== false && groups !== "false") whole = grouped(whole);
  return sign + style.before + whole + (end ? "." + slice(fraction, 0, end) : "") + style.after;
};

// The sign of -0 is lost in its text.
const textOf = (number) => (number === 0 && 1 / number < 0 ? "-0" : String(number));

// Methods of a literal have the names and lengths of the standard, and are no constructors.
const ofNumber = {
  toLocaleString(locales = undefined, options = undefined) {
    return format(textOf(numberValueOf(this)), locales, options);
  },
};
const ofBigInt = {
  toLocaleString(locales = undefined, options = undefined) {
    return format(String(bigintValueOf(this)), locales, options);
  },
};
define(Number.prototype, "toLocaleString", ofNumber.toLocaleString, false);
define(BigInt.prototype, "toLocaleString", ofBigInt.toLocaleString, false);
