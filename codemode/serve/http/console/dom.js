// Makes elements. Text only ever becomes text: nothing here, or anywhere in the console, reads markup.

const SVG = "http://www.w3.org/2000/svg";
const ICONS = {
  runs: "M4 6h16M4 12h16M4 18h10",
  inbox: "M4 13h4l2 3h4l2-3h4M5 5h14l2 8v5a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1v-5z",
  tools: "M14.5 6.5a4 4 0 0 0-5.3 5L4 16.7 7.3 20l5.2-5.2a4 4 0 0 0 5-5.3l-2.6 2.6-2.6-.4-.4-2.6z",
  engine: "M12 8.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7M12 3v2.5M12 18.5V21M3 12h2.5M18.5 12H21M5.6 5.6l1.8 1.8M16.6 16.6l1.8 1.8M5.6 18.4l1.8-1.8M16.6 7.4l1.8-1.8",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13M15.5 15.5 20 20",
  back: "M14 6l-6 6 6 6",
  copy: "M9 9h10v11H9zM5 15V4h10",
  theme: "M12 4a8 8 0 1 0 8 8 6 6 0 0 1-8-8z",
  check: "M5 12.5l4.5 4.5L19 7.5",
  cross: "M6 6l12 12M18 6 6 18",
  clock: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16M12 8v4.5l3 1.8",
  pause: "M9 6v12M15 6v12",
  play: "M8 5.5v13l10-6.5z",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  help: "M9.2 9.2a2.9 2.9 0 1 1 4 2.7c-.8.4-1.2 1-1.2 1.9M12 17.2v.1",
  key: "M14 10a4 4 0 1 0-3.5 3.97L12 15.5h2V17.500h2V19.500h4v-3.500l-6.030-6.030",
};

/** An element. Props: class, dataset, on, aria-*, and any property of the element; children are nodes or text. */
export function h(tag, props = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") made.className = value;
    else if (name === "dataset") Object.assign(made.dataset, value);
    else if (name === "on") for (const [event, run] of Object.entries(value)) made.addEventListener(event, run);
    else if (name.includes("-") || name === "role" || name === "for" || name === "scope") made.setAttribute(name, value === true ? "true" : value);
    else made[name] = value;
  }
  append(made, children);
  return made;
}

export function append(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    parent.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return parent;
}

/** Puts these in place of what was there. */
export function fill(parent, ...children) {
  parent.replaceChildren();
  return append(parent, children);
}

export function icon(name) {
  const made = document.createElementNS(SVG, "svg");
  made.setAttribute("viewBox", "0 0 24 24");
  made.setAttribute("aria-hidden", "true");
  made.classList.add("icon");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  made.append(path);
  return made;
}

export function button(label, run, props = {}) {
  return h("button", { type: "button", ...props, on: { click: run, ...(props.on ?? {}) } }, label);
}

// Characters that change how the text around them reads, or that nobody sees.
const TRICKS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** The text with what is invisible in it made visible: what a person approves must be what is there. */
export function visible(text) {
  return String(text).replace(TRICKS, (sign) => `⟦U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟧`);
}

const announcer = h("div", { class: "toasts", role: "status", "aria-live": "polite" });
export const toasts = announcer;

/** Tells something that happened, to eyes and to screen readers. */
export function tell(text, kind = "plain") {
  const note = h("p", { class: `toast ${kind}` }, text);
  announcer.append(note);
  setTimeout(() => note.remove(), kind === "bad" ? 8000 : 4000);
}
