// The life of a run: its legs one below the other, each with its calls against the leg's own time, and the
// suspensions in between. A run may sleep for a day between two legs of milliseconds, so there is no one axis.

import { h, visible } from "./dom.js";
import { bytes, duration, moment } from "./format.js";
import { json, time } from "./parts.js";

const MAX_CALLS = 200; // of one leg

/** `choose(callId)` is called when a call is pressed. */
export function timeline(legs, choose, now = Date.now()) {
  const made = [];
  legs.forEach((leg, at) => {
    const before = legs[at - 1];
    if (before?.suspended) made.push(suspension(before, leg));
    made.push(legItem(leg, choose, now, at === legs.length - 1));
  });
  const last = legs.at(-1);
  if (last?.suspended && last.status === "waiting") made.push(suspension(last, null));
  return h("ol", { class: "timeline" }, made);
}

function suspension(leg, next) {
  const slept = next ? next.startedAtMs - leg.endedAtMs : null;
  const { bytes: size, captureUs } = leg.suspended;
  const restored = next?.resumed?.restoreUs;
  return h("li", { class: "sleep" },
    h("span", { class: "sleep-line", "aria-hidden": "true" }),
    h("span", {}, slept === null ? "suspended " : "slept ", slept === null ? time(leg.endedAtMs) : h("b", {}, duration(slept))),
    h("span", { class: "muted" }, `${bytes(size)} · captured in ${duration(captureUs / 1000)}${restored ? ` · restored in ${duration(restored / 1000)}` : ""}`));
}

function legItem(leg, choose, now, isLast) {
  const end = leg.endedAtMs ?? (isLast ? now : leg.startedAtMs);
  const calls = leg.calls ?? [];
  const span = Math.max(1, end - leg.startedAtMs); // a call may outlive its leg by days: its bar ends with the leg
  const running = leg.endedAtMs === undefined || leg.endedAtMs === null;
  return h("li", { class: "leg", dataset: { status: running ? "running" : leg.status } },
    h("div", { class: "leg-head" },
      h("b", { class: "leg-name" }, leg.name),
      h("span", { class: "muted" }, running ? "running" : leg.status === "waiting" ? (leg.reason ?? "waiting").replace("_", " ") : leg.status),
      h("span", { class: "grow" }),
      h("time", { class: "muted small", title: moment(leg.startedAtMs) }, clock(leg.startedAtMs)),
      h("b", { class: "num" }, running ? duration(now - leg.startedAtMs) : duration(end - leg.startedAtMs))),
    calls.length > 0 && h("ol", { class: "calls", "aria-label": `Calls of this ${leg.name}` },
      calls.slice(0, MAX_CALLS).map((call) => callItem(call, leg, span, now, choose)),
      calls.length > MAX_CALLS && h("li", { class: "muted small" }, `… ${calls.length - MAX_CALLS} more, in the ledger`)));
}

function clock(atMs) {
  const at = new Date(atMs);
  return `${at.toLocaleTimeString(undefined, { hour12: false })}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

function callItem(call, leg, span, now, choose) {
  const open = call.status === "pending" || call.status === "running" || call.status === "queued";
  const ms = open ? Math.max(call.ms ?? 0, leg.endedAtMs ? 0 : now - call.startedAtMs) : (call.ms ?? 0);
  const kind = open && call.approval && !call.approval.decidedAtMs ? "asks" : call.status;
  const from = Math.max(0, Math.min(99, ((call.startedAtMs - leg.startedAtMs) / span) * 100));
  const bar = h("i", { class: "stretch", "aria-hidden": "true" });
  bar.style.setProperty("--from", `${from}%`);
  bar.style.setProperty("--wide", `${Math.max(0.8, Math.min(100 - from, (ms / span) * 100))}%`);
  const told = kind === "asks" ? "needs approval" : call.status;
  bar.classList.toggle("beyond", from + (ms / span) * 100 > 101);
  return h("li", {},
    h("button", { type: "button", class: "call", dataset: { kind, call: call.id }, title: `${visible(call.tool || call.name)} · ${told}`, on: { click: () => choose(call.id) } },
      h("span", { class: "call-number" }, call.id),
      h("span", { class: "call-name" }, visible(call.name || call.tool), call.status !== "ok" && h("span", { class: "call-status" }, told)),
      h("span", { class: "track" }, bar),
      h("span", { class: "num call-ms" }, open && !leg.endedAtMs ? "…" : duration(ms))));
}

/** What was sent and what came back: values where they are recorded, else their shapes. */
export function callDetail(call) {
  const parts = [["Sent", call.input], ["Came back", call.result]].filter(([, shape]) => shape);
  return h("div", { class: "call-detail" },
    h("p", { class: "muted small" }, visible(call.tool || call.name), ` · ${moment(call.startedAtMs)}`, call.answeredBy && ` · answered by a ${call.answeredBy}`),
    parts.map(([title, shape]) => h("div", {}, h("h3", {}, `${title}, ${bytes(shape.bytes)}`), "value" in shape ? json(shape.value) : h("p", { class: "muted small" }, shapeWords(shape)))),
    call.error && h("p", { class: "bad-text small" }, visible(call.error.code ?? ""), call.error.message && `: ${visible(call.error.message)}`));
}

function shapeWords(shape) {
  const keys = shape.keys?.length ? ` with ${shape.keys.map(visible).join(", ")}` : "";
  const size = Number.isFinite(shape.length) ? ` of ${shape.length}` : "";
  return `${shape.type ?? "a value"}${size}${keys}; values are not recorded`;
}
