// One run: its program with the places of its calls and of its error, its life, what it wrote and gave back.

import { get, may, part, post, whose } from "./api.js";
import { approvalCard } from "./approval_card.js";
import { program } from "./code.js";
import { button, fill, h, icon, tell, visible } from "./dom.js";
import { listen } from "./events.js";
import { bytes, duration, number, plural, shortId } from "./format.js";
import { askFork, history } from "./fork.js";
import { confirmThat } from "./help.js";
import { copyButton, empty, facts, failure, json, outputItem, panel, status, time } from "./parts.js";
import { outputOf } from "./outputs.js";
import { callDetail, timeline } from "./timeline.js";

const LIVE = new Set(["running", "waiting"]);

export function runView(place, runId) {
  let found = null;
  let drawn = "";
  let reading = false;
  let stale = false;
  let timer = 0;
  let ticking = 0;
  let cards = new Map();
  const path = `/v1/runs/${part(runId)}`;
  fill(place, h("p", { class: "muted loading", role: "status" }, "Reading the run …"));

  async function read() {
    clearTimeout(timer);
    timer = 0;
    if (reading) {
      stale = true;
      return;
    }
    reading = true;
    try {
      const now = await get(path, found ? whose(found.run) : {});
      const text = JSON.stringify(now);
      found = now;
      if (text !== drawn || now.run.status === "running") draw();
      drawn = text;
    } catch (refused) {
      if (refused.status === 404 && !found) fill(place, back(), empty("There is no such run", "It may have been forgotten, or it belongs to somebody else."));
      else if (!found) fill(place, back(), failure(refused, read));
    }
    reading = false;
    if (stale) {
      stale = false;
      later();
    }
  }

  function later() {
    if (!timer) timer = setTimeout(read, 120);
  }

  async function send(word, told) {
    try {
      await post(`${path}/${word}`, whose(found.run));
      tell(told);
    } catch (refused) {
      tell(refused.message, "bad");
    }
    later();
  }

  function choose(callId) {
    for (const one of place.querySelectorAll(".chosen")) one.classList.remove("chosen");
    const same = [...place.querySelectorAll("[data-call], [data-mark]")].filter((one) => (one.dataset.call ?? one.dataset.mark) === String(callId));
    for (const one of same) (one.closest(".line") ?? one).classList.add("chosen");
    for (const old of place.querySelectorAll(".call-detail")) old.remove();
    const call = (found.legs ?? []).flatMap((leg) => leg.calls ?? []).find((one) => one.id === String(callId));
    if (call) same.find((one) => one.classList.contains("call"))?.after(callDetail(call));
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    same.find((one) => one.dataset.mark)?.closest(".line")?.scrollIntoView({ block: "nearest", behavior: still ? "auto" : "smooth" });
  }

  function draw() {
    const { run } = found;
    const chosen = place.querySelector(".call.chosen")?.dataset.call;
    const focused = place.contains(document.activeElement) ? nameOf(document.activeElement) : null;
    const typing = document.activeElement?.closest?.(".approval");
    document.title = `${shortId(runId)} · codemode`;
    const asked = (found.approvals ?? []).map((approval) => {
      if (!cards.has(approval.id)) cards.set(approval.id, approvalCard(approval, later));
      return cards.get(approval.id);
    });
    const left = [
      found.error && errorPanel(found.error),
      asked.length > 0 && h("div", { class: "cards" }, asked),
      programPanel(),
      outputPanel(),
      valuePanel(),
    ];
    const right = [timelinePanel(), ledgerPanel(), historyPanel()];
    fill(place,
      back(),
      h("header", { class: "page-head run-title" },
        h("h1", {}, h("span", { class: "muted" }, "run "), h("code", {}, shortId(runId))), copyButton(runId, "run id"),
        status(run), run.code && run.code !== run.status && h("code", { class: "code-word" }, visible(run.code)),
        h("span", { class: "grow" }), actions(run)),
      about(run),
      h("div", { class: "columns" }, h("div", { class: "column" }, left), h("div", { class: "column" }, right)));
    if (typing && place.contains(typing)) typing.querySelector(".reason:not([hidden])")?.focus();
    if (chosen) choose(chosen);
    if (focused) place.querySelector(focused)?.focus({ preventScroll: true });
    clearTimeout(ticking);
    if (run.status === "running") ticking = setTimeout(read, 1000);
  }

  function back() {
    return h("a", { class: "back link", href: "#/runs" }, icon("back"), "All runs");
  }

  function actions(run) {
    if (!LIVE.has(run.status) || !may("run")) return null;
    return h("div", { class: "buttons" },
      run.status === "waiting" && button([icon("play"), "Go on"], () => send("wait", "It went on"), { dataset: { focus: "wait" }, title: "wait: goes on with what has settled" }),
      run.status === "waiting" && button("Fork", () => askFork(run, undefined, Object.fromEntries((found.pending ?? []).map((one) => [one.id, one.tool ?? one.method]))), { dataset: { focus: "fork" }, title: "A copy, maybe with other answers" }),
      button([icon("cross"), "Abort"], () => confirmThat("Abort this run? It cannot go on afterwards.", "Abort it", () => send("abort", "Aborted")), { class: "danger", dataset: { focus: "abort" } }));
  }

  function about(run) {
    const end = run.endedAtMs ?? (run.status === "waiting" ? run.suspendedAtMs : undefined);
    return facts([
      ["Session", visible(run.session)],
      run.agent !== "main" && ["Agent", visible(run.agent)],
      run.agentRun && run.agentRun !== "-" && ["Agent run", visible(run.agentRun)],
      ["Language", run.language],
      ["Started", time(run.startedAtMs)],
      Number.isFinite(end) && [run.status === "waiting" ? "Until suspended" : "Took", duration(end - run.startedAtMs)],
      ["Legs", number(run.legs)],
      ["Calls", number(run.calls)],
      run.bytes > 0 && ["Frozen", bytes(run.bytes)],
      run.status === "waiting" && Number.isFinite(run.expiresAtMs) && ["Expires", time(run.expiresAtMs, true)],
      run.place && run.place !== "here" && ["Place", run.place],
    ]);
  }

  // ---- panels ------------------------------------------------------------------------------------------------

  function errorPanel(error) {
    const at = error.line ? ` at ${error.line}:${error.column ?? 1}` : "";
    return h("section", { class: "panel error-panel", "aria-label": "Error" }, h("header", { class: "panel-head" }, h("h2", {}, "Failed", at), h("code", { class: "code-word" }, visible(error.code))), h("pre", {}, visible(error.message ?? "")));
  }

  function programPanel() {
    const { program: source, positions = {}, error } = found;
    if (!source) return null;
    const told = `${source.language} · ${bytes(source.bytes)}`;
    if (typeof source.text !== "string") {
      return panel("Program", h("p", { class: "muted pad" }, "The text of a finished run is kept only where values are recorded: ", h("code", {}, "--record values"), "."), h("span", { class: "muted small" }, told));
    }
    const calls = new Map((found.ledger ?? []).map((call) => [String(call.id), call]));
    const marks = Object.entries(positions).flatMap(([id, places]) => {
      const call = calls.get(id);
      return places.slice(0, 4).map((at) => ({ line: at.line, id, label: id, kind: call?.status ?? "ok", title: `Call ${id}: ${visible(call?.name ?? "")} ${call?.status ?? ""}${places.length > 1 ? ", here or at another place" : ""}` }));
    });
    if (error?.line) marks.push({ line: error.line, id: "error", label: "!", kind: "fatal", title: `Failed here: ${visible(error.code)}` });
    return panel("Program", program(source.text, marks, choose), [h("span", { class: "muted small" }, told), copyButton(source.text, "program")]);
  }

  function outputPanel() {
    const { items, missing } = outputOf(found);
    if (items.length + missing === 0) return null;
    const note = missing > 0 && h("p", { class: "muted small" }, `${plural(missing, "item")} of earlier legs went to the caller, and are kept only where values are recorded.`);
    return panel("Output", h("div", { class: "outputs" }, note, items.map(outputItem)), h("span", { class: "muted small" }, plural(items.length + missing, "item")));
  }

  function valuePanel() {
    if (!found.value?.known) return null;
    return panel("Value", h("div", { class: "outputs" }, json(found.value.value)));
  }

  function timelinePanel() {
    const legs = found.legs ?? [];
    if (legs.length === 0) return null;
    return panel("Timeline", timeline(legs, choose), h("span", { class: "muted small" }, plural(legs.length, "leg")));
  }

  function ledgerPanel() {
    const calls = found.ledger ?? [];
    if (calls.length === 0) return null;
    const head = ["#", "Tool", "Status", "In → out", "Time"];
    return panel("Ledger", h("div", { class: "scroll" }, h("table", { class: "ledger" },
      h("thead", {}, h("tr", {}, head.map((word, at) => h("th", { scope: "col", class: at > 2 ? "num" : "" }, word)))),
      h("tbody", {}, calls.slice(0, 500).map((call) => h("tr", {},
        h("td", { class: "muted" }, call.id),
        h("td", {}, h("code", { title: visible(call.tool) }, visible(call.name || call.tool)), call.method !== "call" && h("span", { class: "tag" }, call.method)),
        h("td", {}, h("span", { class: "status", dataset: { kind: call.status } }, h("i", { class: "dot", "aria-hidden": "true" }), call.status), call.error?.code && h("code", { class: "code-word" }, visible(call.error.code))),
        h("td", { class: "num" }, `${bytes(call.bytesIn)} → ${bytes(call.bytesOut)}`), h("td", { class: "num" }, duration(call.ms))))))),
      h("span", { class: "muted small" }, plural(calls.length, "call")));
  }

  function historyPanel() {
    const checkpoints = found.history?.checkpoints ?? [];
    if (checkpoints.length === 0) return null;
    return panel("History", history(found.run, checkpoints), h("span", { class: "muted small" }, plural(checkpoints.length, "moment")));
  }

  const keys = (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, dialog")) return;
    if (event.key === "u") location.hash = "#/runs";
    const card = cards.size ? (document.activeElement?.closest?.(".approval") ?? (cards.size === 1 ? [...cards.values()][0] : null)) : null;
    if (card && card.isConnected && (event.key === "a" || event.key === "d")) {
      event.preventDefault();
      if (document.activeElement?.closest?.(".approval") !== card) card.focus();
      else if (event.key === "a") card.approve();
      else card.deny();
    }
  };
  addEventListener("keydown", keys);
  const mute = listen((event) => (event.runId === runId || event.type === "again") && later());
  read();
  return () => {
    clearTimeout(timer);
    clearTimeout(ticking);
    removeEventListener("keydown", keys);
    mute();
  };
}

/** A selector that finds the same control again after the page was drawn anew. */
function nameOf(control) {
  for (const name of ["focus", "call", "mark"]) {
    if (control.dataset[name]) return `[data-${name}="${CSS.escape(control.dataset[name])}"]`;
  }
  return control.matches("button[aria-label]") ? `button[aria-label="${CSS.escape(control.ariaLabel)}"]` : null;
}
