// Percent-encoding of URLs: which ASCII characters each part escapes, and UTF-8 in both directions.

const { append, charCodeAt, codePointAt, encodeURIComponent, fromCodePoint, indexOf, slice } = internal.primordials;

// One bit per set. Indexing a typed array never reaches a prototype.
const CONTROL = 1, FRAGMENT = 2, QUERY = 4, SPECIAL_QUERY = 8, PATH = 16, USERINFO = 32, FORM = 64;
const FORBIDDEN_HOST = 128, FORBIDDEN_DOMAIN = 256;
const table = new Uint16Array(128);
const mark = (bits, characters) => {
  for (const character of characters) table[character.charCodeAt(0)] |= bits;
};
for (let code = 0; code < 128; code++) {
  if (code < 0x20 || code === 0x7f) table[code] = 127 | FORBIDDEN_DOMAIN;
  if (!/[\w*.-]/.test(String.fromCharCode(code))) table[code] |= FORM;
}
mark(FRAGMENT, ' "<>`');
mark(QUERY | SPECIAL_QUERY | PATH | USERINFO, ' "#<>');
mark(SPECIAL_QUERY, "'");
mark(PATH | USERINFO, "?^`{}");
mark(USERINFO, "/:;=@[\\]|");
mark(FORBIDDEN_HOST | FORBIDDEN_DOMAIN, "\0\t\n\r #/:<>?@[\\]^|");
mark(FORBIDDEN_DOMAIN, "%");

// Replaces code points: replace(code) gives the new text of one, undefined keeps it.
const rewrite = (text, replace) => {
  let out = "", kept = 0; // everything before `kept` is in `out`
  for (let i = 0; i < text.length; i++) {
    const start = i, code = codePointAt(text, i);
    if (code > 0xffff) i++;
    const replacement = replace(code);
    if (replacement === undefined) continue;
    out += slice(text, kept, start) + replacement;
    kept = i + 1;
  }
  return kept === 0 ? text : out + slice(text, kept);
};

// Escapes what is in the set and everything that is not ASCII. The text has no lone surrogates.
const encode = (text, set) =>
  rewrite(text, (code) => {
    if (code >= 0x80) return encodeURIComponent(fromCodePoint(code)); // which leaves some of ASCII as it is
    if (!(table[code] & set)) return undefined;
    return code === 0x20 && set === FORM ? "+" : "%" + "01234567"[code >> 4] + "0123456789ABCDEF"[code & 15];
  });

const hasAny = (text, set) => {
  for (let i = 0; i < text.length; i++) if (table[charCodeAt(text, i)] & set) return true;
  return false;
};
const isDigit = (code) => code >= 0x30 && code <= 0x39;
const isAlpha = (code) => (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;
const hexValue = (code) =>
  isDigit(code) ? code - 0x30 : isAlpha(code) && (code | 0x20) < 0x67 ? (code | 0x20) - 0x57 : -1;

// The number that the text spells; null if it is empty or has other characters than digits.
const readDigits = (text, radix) => {
  let value = text === "" ? null : 0;
  for (let i = 0; i < text.length; i++) {
    const digit = hexValue(charCodeAt(text, i));
    if (digit < 0 || digit >= radix) return null;
    value = value * radix + digit;
  }
  return value;
};

// Unescaped characters are whole, so they end any UTF-8 sequence: each run of escapes decodes on its own.
const decode = (text) => {
  let out = "", kept = 0;
  for (let at = indexOf(text, "%"); at >= 0; at = indexOf(text, "%", at + 1)) {
    const start = at, bytes = [];
    for (let byte; charCodeAt(text, at) === 0x25 && at + 2 < text.length; at += 3) {
      byte = readDigits(slice(text, at + 1, at + 3), 16);
      if (byte === null) break;
      append(bytes, byte);
    }
    if (at === start) continue;
    out += slice(text, kept, start) + decodeUtf8(bytes);
    kept = at--;
  }
  return out + slice(text, kept);
};
// A sequence that breaks off becomes one U+FFFD, and the byte that broke it is looked at again.
const decodeUtf8 = (bytes) => {
  let out = "", need = 0, code = 0, low = 0x80, high = 0xbf;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (need > 0 && byte >= low && byte <= high) {
      code = (code << 6) | (byte & 63);
      if (--need === 0) out += fromCodePoint(code);
      low = 0x80;
      high = 0xbf;
      continue;
    }
    if (need > 0) out += "\ufffd";
    // No overlong forms, no surrogates, nothing past U+10FFFF.
    low = byte === 0xe0 ? 0xa0 : byte === 0xf0 ? 0x90 : 0x80;
    high = byte === 0xed ? 0x9f : byte === 0xf4 ? 0x8f : 0xbf;
    need = byte < 0xc2 || byte > 0xf4 ? 0 : byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    code = byte & (0x3f >> need);
    if (need === 0) out += byte < 0x80 ? fromCodePoint(byte) : "\ufffd";
  }
  return need > 0 ? out + "\ufffd" : out;
};

internal.text = {
  __proto__: null, CONTROL, FRAGMENT, QUERY, SPECIAL_QUERY, PATH, USERINFO, FORM,
  FORBIDDEN_HOST, FORBIDDEN_DOMAIN, decode, encode, hasAny, isAlpha, isDigit, readDigits, rewrite,
};
