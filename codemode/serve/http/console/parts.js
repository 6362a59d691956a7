// Small pieces that several pages show: statuses, times that stay true, empty places, JSON, code.

import { button, h, icon, tell, visible } from "./dom.js";
import { ago, moment, plural, until } from "./format.js";

const WORDS = { pending_tools: "waits for tools", approval: "needs approval", yield: "yielded" };

export function statusWord(run) {
  if (run.status === "waiting") return WORDS[run.reason] ?? "waiting";
  return run.status;
}

export function status(run) {
  const kind = run.status === "waiting" && run.reason === "approval" ? "asks" : run.status;
  return h("span", { class: "status", dataset: { kind } }, h("i", { class: "dot", "aria-hidden": "true" }), statusWord(run));
}

/** A time that says how long ago, or in how long, and stays true while it is shown. */
export function time(atMs, ahead = false) {
  const made = h("time", { class: "time", title: moment(atMs), dataset: { at: atMs, ahead: ahead ? "1" : "" } });
  made.dateTime = Number.isFinite(atMs) ? new Date(atMs).toISOString() : "";
  refreshTime(made);
  return made;
}

function refreshTime(made) {
  const at = Number(made.dataset.at);
  made.textContent = !Number.isFinite(at) ? "–" : made.dataset.ahead ? until(at) : ago(at);
}

setInterval(() => document.querySelectorAll("time.time").forEach(refreshTime), 5000);

export function empty(title, text, ...more) {
  return h("div", { class: "empty" }, h("div", { class: "empty-art", "aria-hidden": "true" }, h("i"), h("i"), h("i")), h("h2", {}, title), h("p", {}, text), more);
}

export function failure(refused, again) {
  return h("div", { class: "notice bad", role: "alert" }, h("p", {}, refused.message), again && button("Try again", again));
}

export function copyButton(text, what) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      tell(`${what} copied`);
    } catch {
      tell("The browser did not allow that", "bad");
    }
  };
  return button(icon("copy"), copy, { class: "quiet copy", "aria-label": `Copy ${what}`, title: `Copy ${what}` });
}

export function facts(pairs) {
  return h("dl", { class: "facts" }, pairs.filter(Boolean).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

export function panel(title, body, extra = null, props = {}) {
  const id = `panel-${title.toLowerCase().replace(/\W+/g, "-")}`;
  return h("section", { class: `panel ${props.class ?? ""}`, "aria-labelledby": id }, h("header", { class: "panel-head" }, h("h2", { id }, title), extra), body);
}

// ---- JSON ---------------------------------------------------------------------------------------------------

const MAX_SHOWN = 200;

/** A JSON value, folded where it is deep or long; `whole`: all of it is shown, for somebody who decides on it. */
export function json(value, depth = 0, whole = false) {
  if (value === null || typeof value !== "object") return scalar(value);
  const entries = Array.isArray(value) ? value.map((one, at) => [at, one]) : Object.entries(value);
  const [open, shut] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) return h("span", { class: "json-mark" }, open + shut);
  const shown = entries.slice(0, whole ? Infinity : MAX_SHOWN).map(([name, one]) =>
    h("li", {}, !Array.isArray(value) && [h("span", { class: "json-key" }, visible(name)), h("span", { class: "json-mark" }, ": ")], json(one, depth + 1, whole)));
  if (shown.length < entries.length) shown.push(h("li", { class: "muted" }, `… ${entries.length - MAX_SHOWN} more`));
  const told = plural(entries.length, Array.isArray(value) ? "item" : "key");
  return h("details", { class: "json", open: whole || (depth < 2 && entries.length <= 40) },
    h("summary", {}, h("span", { class: "json-mark" }, open), h("span", { class: "json-told" }, ` ${told} `), h("span", { class: "json-mark json-shut" }, shut)),
    h("ul", {}, shown), h("span", { class: "json-mark" }, shut));
}

function scalar(value) {
  const kind = value === null ? "null" : typeof value;
  return h("span", { class: `json-${kind}` }, kind === "string" ? `"${visible(value)}"` : String(value));
}

// ---- output -------------------------------------------------------------------------------------------------

const PICTURE = /^image\/(png|jpeg|gif|webp)$/;

export function outputItem(item) {
  if (item.type === "text") return h("pre", { class: `out-text ${item.level ?? ""}` }, visible(item.text), item.clipped && h("em", { class: "muted" }, " (clipped)"));
  if (item.type === "json") return h("div", { class: "out-json" }, json(item.value));
  const told = `${item.mimeType ?? "file"}${item.name ? ` · ${visible(item.name)}` : ""}`;
  if (item.type === "image" && item.data && PICTURE.test(item.mimeType)) {
    return h("figure", { class: "out-image" }, h("img", { src: `data:${item.mimeType};base64,${item.data}`, alt: `Image of the program, ${told}` }), h("figcaption", {}, told));
  }
  return h("p", { class: "out-file" }, icon("file"), told);
}

