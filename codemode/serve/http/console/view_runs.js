// The list of runs: filters, search, live, and only as many rows in the page as can be seen.

import { get } from "./api.js";
import { fill, h, icon, visible } from "./dom.js";
import { listen } from "./events.js";
import { bytes, duration, number, plural, shortId } from "./format.js";
import { empty, failure, status, time } from "./parts.js";

const FILTERS = [
  ["", "All"],
  ["running", "Running"],
  ["waiting", "Waiting"],
  ["completed", "Completed"],
  ["failed,expired,aborted", "Failed"],
];
const PAGE = 100;
const MARGIN = 8; // rows above and below what is seen
const NEWS = new Set(["started", "suspended", "resumed", "finished", "call_started", "approval_opened", "approval_closed", "again"]);

export function runsView(place) {
  const query = new URLSearchParams(location.hash.split("?")[1] ?? "");
  const asked = { status: query.get("status") ?? "", q: query.get("q") ?? "" };
  const runs = [];
  const fresh = new Set();
  let next = null;
  let loading = null;
  let refreshing = 0;
  let chosen = -1;

  const field = h("input", { type: "search", placeholder: "Search id, session, tool, code …", "aria-label": "Search runs", value: asked.q, spellcheck: false });
  const tabs = h("div", { class: "tabs", role: "group", "aria-label": "Filter by status" });
  const summary = h("p", { class: "muted summary", role: "status" });
  const list = h("div", { class: "run-list", role: "list", "aria-label": "Runs" });
  const above = h("div", { class: "spacer" });
  const below = h("div", { class: "spacer" });
  const rows = h("div", { class: "rows" });
  const note = h("div", { class: "list-note" });
  const head = h("div", { class: "run-row run-head", "aria-hidden": "true" }, ["Status", "Run", "Session", "Tools", "Calls", "Size", "Took", "Started"].map((word) => h("span", {}, word)));
  fill(place,
    h("header", { class: "page-head" }, h("h1", {}, "Runs"), summary),
    h("div", { class: "bar" }, tabs, h("label", { class: "search" }, icon("search"), field, h("kbd", { "aria-hidden": "true" }, "/"))),
    h("div", { class: "run-table" }, head, list, note));
  fill(list, above, rows, below);

  function drawTabs(counts) {
    fill(tabs, FILTERS.map(([value, label]) => {
      const count = value === "" ? total(counts) : counts?.[value];
      return h("button", { type: "button", class: "tab", "aria-pressed": asked.status === value ? "true" : "false", on: { click: () => choose(value) } }, label, Number.isFinite(count) && h("span", { class: "tab-count" }, number(count)));
    }));
  }

  function total(counts) {
    return counts ? counts.running + counts.waiting + counts.finished : undefined;
  }

  function choose(value) {
    asked.status = value;
    remember();
    start();
  }

  function remember() {
    const kept = new URLSearchParams(Object.entries(asked).filter(([, value]) => value));
    history.replaceState(null, "", `#/runs${kept.size ? `?${kept}` : ""}`);
  }

  async function start() {
    loading?.abort();
    const stop = (loading = new AbortController());
    list.setAttribute("aria-busy", "true");
    try {
      const found = await get("/v1/runs", { ...asked, limit: PAGE }, stop.signal);
      runs.splice(0, runs.length, ...found.runs);
      next = found.next;
      chosen = -1;
      tellCounts(found.counts);
      fill(note, runs.length === 0 && nothing(found.counts));
    } catch (refused) {
      if (refused.name === "AbortError") return;
      fill(note, failure(refused, start));
    } finally {
      if (loading === stop) loading = null;
    }
    list.removeAttribute("aria-busy");
    drawRows();
  }

  function tellCounts(counts) {
    drawTabs(counts);
    fill(summary, counts ? `${plural(total(counts), "run")}, ${number(counts.running)} running, ${number(counts.waiting)} waiting` : "");
    head.hidden = total(counts) === 0;
  }

  function nothing(counts) {
    if (asked.q || asked.status) return empty("Nothing fits", "No run matches this search and filter.", h("p", {}, h("a", { href: "#/runs", class: "link" }, "Show all runs")));
    if (total(counts) === 0) return empty("No runs yet", "They appear here as soon as a program starts.", h("pre", { class: "hint-code" }, `curl -s ${location.origin}/v1/exec \\\n  -H 'Content-Type: application/json' \\\n  -d '{"code": "return 1 + 1"}'`));
    return null;
  }

  async function more() {
    if (!next || loading) return;
    const stop = (loading = new AbortController());
    try {
      const found = await get("/v1/runs", { ...asked, limit: 200, cursor: next }, stop.signal);
      const known = new Set(runs.map((run) => run.runId));
      runs.push(...found.runs.filter((run) => !known.has(run.runId)));
      next = found.next;
    } catch (refused) {
      if (refused.name !== "AbortError") fill(note, failure(refused, more));
    } finally {
      if (loading === stop) loading = null;
    }
    drawRows();
  }

  /** Reads the newest again and puts them where they belong. */
  async function refresh() {
    refreshing = 0;
    if (loading) return later();
    try {
      const found = await get("/v1/runs", { ...asked, limit: PAGE });
      const told = new Set(found.runs.map((run) => run.runId));
      const known = new Set(runs.map((run) => run.runId));
      const oldest = found.runs.at(-1)?.startedAtMs ?? Infinity;
      for (const run of found.runs) if (!known.has(run.runId) && known.size) fresh.add(run.runId);
      const kept = found.next ? runs.filter((run) => !told.has(run.runId) && run.startedAtMs <= oldest) : [];
      if (!runs.length || !found.next) next = found.next;
      runs.splice(0, runs.length, ...found.runs, ...kept);
      tellCounts(found.counts);
      fill(note, runs.length === 0 && nothing(found.counts));
      drawRows();
    } catch {
      // the next event tries again
    }
  }

  function later() {
    if (!refreshing) refreshing = setTimeout(refresh, 200);
  }

  // ---- rows --------------------------------------------------------------------------------------------------

  function rowHeight() {
    return matchMedia("(max-width: 760px)").matches ? 84 : 49;
  }

  function drawRows() {
    const height = rowHeight();
    const top = list.getBoundingClientRect().top;
    const from = Math.max(0, Math.floor(-top / height) - MARGIN);
    const to = Math.min(runs.length, Math.ceil((innerHeight - top) / height) + MARGIN);
    above.style.height = `${from * height}px`;
    below.style.height = `${Math.max(0, runs.length - to) * height}px`;
    const held = rows.contains(document.activeElement) ? document.activeElement.dataset.at : null;
    fill(rows, runs.slice(from, Math.max(from, to)).map((run, at) => row(run, from + at)));
    if (held !== null) rows.querySelector(`[data-at="${held}"]`)?.focus({ preventScroll: true });
    if (next && to > runs.length - 40) more();
  }

  function row(run, at) {
    const took = (run.endedAtMs ?? run.suspendedAtMs ?? Date.now()) - run.startedAtMs;
    const isFresh = fresh.delete(run.runId);
    const session = run.agent && run.agent !== "main" ? `${run.agent} / ${run.session}` : run.session;
    return h("div", { role: "listitem", "aria-setsize": next ? -1 : runs.length, "aria-posinset": at + 1 },
      h("a", { class: `run-row ${isFresh ? "fresh" : ""}`, href: `#/runs/${encodeURIComponent(run.runId)}`, dataset: { at, run: run.runId }, on: { focus: () => (chosen = at) } },
        h("span", { class: "cell-status" }, status(run), run.code && run.code !== run.status && h("code", { class: "code-word" }, visible(run.code))),
        h("span", { class: "cell-id" }, h("code", {}, shortId(run.runId)), run.language === "typescript" && h("span", { class: "tag" }, "ts")),
        h("span", { class: "cell-session", title: visible(session) }, visible(session)),
        h("span", { class: "cell-tools" }, (run.tools ?? []).slice(0, 2).map((tool) => h("span", { class: "chip" }, visible(tool.split(":").at(-1)))), run.tools?.length > 2 && h("span", { class: "muted small" }, `+${run.tools.length - 2}`)),
        h("span", { class: "cell-calls num", "aria-label": plural(run.calls ?? 0, "call") }, number(run.calls ?? 0)),
        h("span", { class: "cell-size num" }, run.bytes ? bytes(run.bytes) : "–"),
        h("span", { class: "cell-took num" }, run.status === "running" ? "…" : took < 1 ? "< 1 ms" : duration(took)),
        h("span", { class: "cell-time num" }, time(run.startedAtMs))));
  }

  function move(by) {
    chosen = Math.max(0, Math.min(runs.length - 1, chosen + by));
    const height = rowHeight();
    const top = list.getBoundingClientRect().top + chosen * height;
    if (top < 80) scrollBy(0, top - 80);
    else if (top + height > innerHeight - 80) scrollBy(0, top + height - innerHeight + 80);
    drawRows();
    rows.querySelector(`[data-at="${chosen}"]`)?.focus({ preventScroll: true });
  }

  // ---- what happens ------------------------------------------------------------------------------------------

  let typing = 0;
  field.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      asked.q = field.value.trim();
      remember();
      start();
    }, 180);
  });
  const keys = (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, dialog")) return;
    const by = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (by && runs.length) {
      event.preventDefault();
      move(by);
    }
  };
  const again = () => requestAnimationFrame(drawRows);
  addEventListener("scroll", again, { passive: true });
  addEventListener("resize", again);
  addEventListener("keydown", keys);
  const mute = listen((event) => NEWS.has(event.type) && later());
  drawTabs(null);
  start();
  return () => {
    loading?.abort();
    clearTimeout(refreshing);
    removeEventListener("scroll", again);
    removeEventListener("resize", again);
    removeEventListener("keydown", keys);
    mute();
  };
}
