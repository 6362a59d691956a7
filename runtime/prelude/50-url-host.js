// Hosts of URLs: IPv4 in all its spellings, IPv6, opaque hosts and domain names.
//
// International names are an approximation of UTS 46, whose tables would outweigh the rest of the prelude:
// NFKC, lower case per code point, a few ignored and refused ranges, then Punycode. That gives the
// standard's result for names in everyday use. Not checked: unassigned code points, combining marks,
// right-to-left labels, and what labels that come as xn-- decode to. Joiners are refused everywhere.

const {
  append, charCodeAt, codePointAt, floor, fromCodePoint, indexOf, lastIndexOf, normalize, slice, toLowerCase,
} = internal.primordials;
const { CONTROL, FORBIDDEN_DOMAIN, FORBIDDEN_HOST, decode, encode, hasAny, readDigits, rewrite } = internal.text;

// The host as it is written in the serialized URL, or null if there is no such host.
const parseHost = (text, special) => {
  if (charCodeAt(text, 0) === 0x5b) {
    const pieces = charCodeAt(text, text.length - 1) === 0x5d ? parseIpv6(slice(text, 1, -1)) : null;
    return pieces === null ? null : "[" + serializeIpv6(pieces) + "]";
  }
  if (!special) return hasAny(text, FORBIDDEN_HOST) ? null : encode(text, CONTROL);
  const labels = readParts(mapDomain(decode(text)), ".", labelToAscii);
  if (labels === null) return null;
  let domain = labels[0], count = labels.length;
  for (let i = 1; i < count; i++) domain += "." + labels[i];
  if (domain === "" || hasAny(domain, FORBIDDEN_DOMAIN)) return null;
  if (count > 1 && labels[count - 1] === "") count--;
  const last = labels[count - 1];
  return readDigits(last, 10) === null && ipv4Number(last) === null ? domain : parseIpv4(labels, count);
};

// What `read` makes of each part between the separators; null if it makes null of one.
const readParts = (text, separator, read) => {
  const parts = [];
  for (let start = 0, end; start <= text.length; start = end + 1) {
    end = indexOf(text, separator, start);
    if (end < 0) end = text.length;
    const part = read(slice(text, start, end));
    if (part === null) return null;
    append(parts, part);
  }
  return parts;
};

// Decimal, 0octal or 0xhex ("0x" alone is zero); null if it is none of these.
const ipv4Number = (text) => {
  if (charCodeAt(text, 0) !== 0x30 || text.length === 1) return readDigits(text, 10);
  const isHex = (charCodeAt(text, 1) | 0x20) === 0x78;
  return isHex && text.length === 2 ? 0 : readDigits(slice(text, isHex ? 2 : 1), isHex ? 16 : 8);
};

const parseIpv4 = (parts, count) => {
  if (count > 4) return null;
  let address = 0;
  for (let i = 0; i < count; i++) {
    const value = ipv4Number(parts[i]);
    const bytes = i === count - 1 ? 5 - count : 1; // the last part fills all the bytes that are left
    if (value === null || value >= 256 ** bytes) return null;
    address += value * 256 ** (4 - i - bytes);
  }
  const byte = (power) => floor(address / 256 ** power) % 256;
  return byte(3) + "." + byte(2) + "." + byte(1) + "." + byte(0);
};

// Eight numbers, or null.
const parseIpv6 = (text) => {
  if (indexOf(text, ".") >= 0) {
    const tail = lastIndexOf(text, ":") + 1;
    const bytes = readParts(slice(text, tail), ".", embeddedByte);
    if (bytes === null || bytes.length !== 4) return null;
    const pieces = hex(bytes[0] * 256 + bytes[1]) + ":" + hex(bytes[2] * 256 + bytes[3]);
    return parseIpv6(slice(text, 0, tail) + pieces);
  }
  const gap = indexOf(text, "::");
  const pieces = gap <= 0 ? [] : readParts(slice(text, 0, gap), ":", ipv6Piece);
  const after = gap < 0 ? text : slice(text, gap + 2);
  const rest = gap >= 0 && after === "" ? [] : readParts(after, ":", ipv6Piece);
  if (pieces === null || rest === null) return null;
  const missing = 8 - pieces.length - rest.length;
  if (gap < 0 ? missing !== 0 : missing < 1) return null;
  for (let i = 0; i < missing; i++) append(pieces, 0);
  for (let i = 0; i < rest.length; i++) append(pieces, rest[i]);
  return pieces;
};
const ipv6Piece = (text) => (text.length > 4 ? null : readDigits(text, 16));
// Inside IPv6 only the plain form of IPv4 counts: decimal, no leading zeros.
const embeddedByte = (text) => {
  const value = text.length > 1 && charCodeAt(text, 0) === 0x30 ? null : readDigits(text, 10);
  return value > 255 ? null : value;
};
const hex = (value) => (value < 16 ? "" : hex(value >> 4)) + "0123456789abcdef"[value & 15];

const serializeIpv6 = (pieces) => {
  let out = "", gap = -1, gapLength = 1; // the first longest run of at least two zeros is left out
  for (let i = 0, run = 0; i < 8; i++) {
    run = pieces[i] === 0 ? run + 1 : 0;
    if (run <= gapLength) continue;
    gapLength = run;
    gap = i - run + 1;
  }
  for (let i = 0; i < 8; i++) {
    if (i !== gap) out += hex(pieces[i]) + (i < 7 ? ":" : "");
    else {
      out += i === 0 ? "::" : ":";
      i += gapLength - 1;
    }
  }
  return out;
};

// Lower case per code point, because lower-casing whole words has its own rule for a final sigma.
const mapDomain = (domain) => {
  let ascii = 0;
  while (charCodeAt(domain, ascii) < 0x80) ascii++;
  if (ascii === domain.length) return toLowerCase(domain);
  const map = (code) => (code === 0x3002 ? "." : isIgnored(code) ? "" : toLowerCase(fromCodePoint(code)));
  return normalize(rewrite(normalize(domain, "NFKC"), map), "NFKC");
};
// Soft hyphen, grapheme joiner, zero width space, word joiner, variation selectors, byte order mark.
const isIgnored = (code) =>
  code === 0xad || code === 0x34f || code === 0x200b || code === 0x2060 || code === 0x2064 || code === 0xfeff ||
  (code >= 0x180b && code <= 0x180f) || (code >= 0xfe00 && code <= 0xfe0f) || (code >= 0xe0100 && code <= 0xe01ef);
// Controls, joiners and direction marks, separators, private use, noncharacters, replacement characters.
const isRefused = (code) =>
  (code >= 0x80 && code <= 0x9f) || (code >= 0x200c && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
  (code >= 0x2061 && code <= 0x206f) || (code >= 0xd800 && code <= 0xf8ff) || (code >= 0xfdd0 && code <= 0xfdef) ||
  (code >= 0xfff9 && code <= 0xffff) || (code & 0xfffe) === 0xfffe || code >= 0xe0000;

const labelToAscii = (label) => {
  const points = [];
  let ascii = "";
  for (let i = 0; i < label.length; i++) {
    const code = codePointAt(label, i);
    if (isRefused(code)) return null;
    if (code > 0xffff) i++;
    if (code < 0x80) ascii += fromCodePoint(code);
    append(points, code);
  }
  if (ascii.length === points.length) return label;
  return indexOf(label, "xn--") === 0 ? null : "xn--" + encodePunycode(points, ascii);
};

// RFC 3492, with its names: delta counts the code points and places skipped since the last insertion.
const encodePunycode = (points, ascii) => {
  let out = ascii === "" ? "" : ascii + "-";
  for (let n = 0x80, delta = 0, bias = 72, done = ascii.length; done < points.length; n++, delta++) {
    let next = 0x110000;
    for (let i = 0; i < points.length; i++) if (points[i] >= n && points[i] < next) next = points[i];
    delta += (next - n) * (done + 1);
    n = next;
    for (let i = 0; i < points.length; i++) {
      if (points[i] < n) delta++;
      if (points[i] !== n) continue;
      out += punycodeNumber(delta, bias);
      delta = floor(delta / (done === ascii.length ? 700 : 2));
      delta += floor(delta / ++done);
      for (bias = 0; delta > 455; bias += 36) delta = floor(delta / 35);
      bias += floor((36 * delta) / (delta + 38));
      delta = 0;
    }
  }
  return out;
};
const punycodeNumber = (value, bias) => {
  let out = "";
  for (let k = 36; ; k += 36) {
    const low = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
    out += "abcdefghijklmnopqrstuvwxyz0123456789"[value < low ? value : low + ((value - low) % (36 - low))];
    if (value < low) return out;
    value = floor((value - low) / (36 - low));
  }
};

internal.parseHost = parseHost;
