// Changes to a program that move nothing. Blanking writes one space for each byte of UTF-8 and leaves line breaks
// alone. Text that JavaScript needs and TypeScript had not is inserted with a mark behind it, a comment that tells the
// engine how many bytes came in: it counts columns without them (runtime/build/changes.py).

const LINE_BREAK = /[\n\r\u2028\u2029]/;

const byteWidth = (unit) => (unit < 0x80 ? 1 : unit < 0x800 ? 2 : unit >= 0xd800 && unit <= 0xdfff ? 2 : 3);

function byteLength(text) {
  let bytes = 0;
  for (let i = 0; i < text.length; i++) bytes += byteWidth(text.charCodeAt(i));
  return bytes;
}

function spacesFor(text) {
  if (!/[^\x00-\x7f]/.test(text)) return text.replace(/[^\n\r]/g, " ");
  return text.replace(/[^\n\r\u2028\u2029]/g, (unit) => " ".repeat(byteWidth(unit.charCodeAt(0))));
}

class Edits {
  constructor(source) {
    this.source = source;
    this.spans = []; // [start, end, text], one inside the other at most
    this.insertions = []; // [offset, 0 closes or 1 opens, order, text]
  }

  blank(start, end) {
    if (start < end) this.spans.push([start, end, spacesFor(this.source.slice(start, end))]);
  }

  // Blanks a span and writes a few characters at its beginning. The span must be ASCII there.
  overwrite(start, end, text) {
    this.spans.push([start, end, text + spacesFor(this.source.slice(start + text.length, end))]);
  }

  // Blanks a span and writes one ASCII character at its end.
  overwriteEnd(start, end, character) {
    const last = spacesFor(this.source.slice(end - 1, end));
    this.spans.push([start, end, spacesFor(this.source.slice(start, end - 1)) + last.slice(1) + character]);
  }

  // Blanks a statement or member, and ends the one before it, which may have relied on a line break.
  blankStatement(node) {
    this.overwrite(node.start, node.end, ";");
  }

  // Adds text before what stands at `offset`.
  open(offset, text) {
    this.insertions.push([offset, 1, this.insertions.length, text]);
  }

  // Adds text behind what ends at `offset`; of two that end there, the one that began last closes first.
  close(offset, text, began) {
    this.insertions.push([offset, 0, -began, text]);
  }

  finish() {
    const { source, spans, insertions } = this;
    spans.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
    insertions.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
    const parts = [];
    let position = 0;
    let next = 0;
    const copy = (from, to) => {
      while (next < insertions.length && insertions[next][0] < to) {
        const offset = insertions[next][0];
        let text = "";
        for (; next < insertions.length && insertions[next][0] === offset; next++) text += insertions[next][3];
        parts.push(source.slice(from, offset), text, `/*\x01${byteLength(text)}*/`);
        from = offset;
      }
      parts.push(source.slice(from, to));
    };
    for (const [start, end, text] of spans) {
      if (start < position) continue;
      copy(position, start + 1); // insertions at the start of a span come before it
      const held = parts.pop();
      parts.push(held.slice(0, -1), text);
      position = end;
      if (next < insertions.length && insertions[next][0] < end) throw new Error("an insertion inside of what is blanked");
    }
    copy(position, source.length + 1);
    return parts.join("");
  }
}
