// Shows a program: numbered lines, colours for the eye, and marks where calls were made and where it failed.

import { h, visible } from "./dom.js";

const KEYWORDS = new Set("abstract as async await break case catch class const continue declare default delete do else enum export extends false finally for from function if implements import in instanceof interface let namespace new null of private public readonly return static super switch this throw true try type typeof undefined var void while yield".split(" "));
const TOKEN = /(\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|("(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|`(?:[^`\\]|\\[\s\S])*`?)|(\b\d[\w.]*\b)|([A-Za-z_$][\w$]*)/g;
const MAX_COLOURED = 60_000;

/** Parts of the text with their kinds; kinds are only for colours, so a wrong one does no harm. */
function* tokens(text) {
  let at = 0;
  for (const found of text.matchAll(TOKEN)) {
    if (found.index > at) yield ["", text.slice(at, found.index)];
    const [whole, comment, string, digits, word] = found;
    const before = text[found.index - 1];
    const kind = comment ? "comment" : string ? "string" : digits ? "number" : KEYWORDS.has(word) && before !== "." ? "keyword" : /^(tools|MCP)$/.test(word) ? "tools" : text[found.index + whole.length] === "(" ? "call" : "";
    yield [kind, whole];
    at = found.index + whole.length;
  }
  if (at < text.length) yield ["", text.slice(at)];
}

function colouredLines(text) {
  const lines = [[]];
  for (const [kind, part] of text.length > MAX_COLOURED ? [["", text]] : tokens(text)) {
    part.split("\n").forEach((piece, at) => {
      if (at > 0) lines.push([]);
      if (piece) lines.at(-1).push(kind ? h("span", { class: `tok-${kind}` }, visible(piece)) : visible(piece));
    });
  }
  return lines;
}

/** `marks`: {line, kind, label, title, id}. `choose(id)` is called when one is pressed. */
export function program(text, marks, choose) {
  const byLine = Map.groupBy ? Map.groupBy(marks, (mark) => mark.line) : group(marks);
  const rows = colouredLines(text.replace(/\r\n?/g, "\n")).map((parts, at) => {
    const own = byLine.get(at + 1) ?? [];
    const failed = own.some((mark) => mark.kind === "fatal");
    return h("li", { class: failed ? "line failed" : "line", dataset: { line: at + 1 } },
      h("code", {}, parts.length ? parts : "\u200b"),
      own.length > 0 && h("span", { class: "marks" }, own.map((mark) =>
        h("button", { type: "button", class: "mark-at", dataset: { kind: mark.kind, mark: mark.id }, title: mark.title, "aria-label": mark.title, on: { click: () => choose(mark.id) } }, mark.label))));
  });
  return h("ol", { class: "program", "aria-label": "Program" }, rows);
}

function group(marks) {
  const found = new Map();
  for (const mark of marks) found.set(mark.line, [...(found.get(mark.line) ?? []), mark]);
  return found;
}
