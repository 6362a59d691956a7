// The engine: health, workers, loop, store, MCP servers, confinement, limits. Read again every few seconds.

import { get, may, post } from "./api.js";
import { button, fill, h, tell, visible } from "./dom.js";
import { bytes, duration, number, plural, words } from "./format.js";
import { facts, failure, panel, time } from "./parts.js";

const PAUSE_MS = 3000;
const GOOD = new Set(["active", "connected", "ok", "healthy", "applied", "enforced"]);

export function engineView(place) {
  let timer = 0;
  let isGone = false;
  const body = h("div", {});
  const summary = h("div", { class: "summary" });
  const probe = may("admin") && button("Probe every part", async () => {
    probe.disabled = true;
    try {
      const health = await post("/v1/health/probe");
      tell(`Probed: ${health.status}`, health.status === "healthy" ? "good" : "bad");
    } catch (refused) {
      tell(refused.message, "bad");
    }
    probe.disabled = false;
    read();
  });
  fill(place, h("header", { class: "page-head" }, h("h1", {}, "Engine"), summary, h("span", { class: "grow" }), probe), body);

  async function read() {
    clearTimeout(timer);
    try {
      draw(await get("/v1/engine"));
    } catch (refused) {
      fill(body, failure(refused, read));
    }
    if (!isGone) timer = setTimeout(read, PAUSE_MS);
  }

  function draw(engine) {
    const { health, workers, loop, runs = {}, store, mcp = [], limits = {}, settings = {}, http = {} } = engine;
    fill(summary, h("span", { class: "status", dataset: { kind: health.status } }, h("i", { class: "dot", "aria-hidden": "true" }), engine.isDraining ? "draining" : health.status));
    const open = new Set([...body.querySelectorAll("details[open]")].map((one) => one.dataset.name));
    fill(body,
      (health.reasons ?? []).map((reason) => h("p", { class: health.status === "degraded" ? "notice" : "notice bad" }, visible(typeof reason === "string" ? reason : JSON.stringify(reason)))),
      h("div", { class: "tiles" },
        tile("Runs", number(runs.running ?? 0), `running · ${number(runs.waiting ?? 0)} waiting`),
        tile("Workers", `${number(workers.busy)}`, `busy · ${number(workers.warm)} warm`, workers.busy / Math.max(1, workers.busy + workers.warm)),
        tile("Queue", number(workers.queued), "legs wait for a worker"),
        tile("Event loop", duration(loop.lagMs), `late now · ${duration(loop.worstLagMs)} at worst`),
        tile("Store", bytes(store?.bytes), `${plural(store?.runs ?? 0, "run")} · ${store?.kind ?? ""}`, (store?.bytes ?? 0) / (store?.maxBytes || Infinity)),
        tile("History", number(store?.history?.runs ?? 0), `finished runs · ${bytes(store?.history?.bytes ?? 0)}`)),
      h("div", { class: "columns" },
        h("div", { class: "column" },
          panel("Confinement", h("ul", { class: "layers" }, (workers.confinement ?? []).map(layer)), h("span", { class: "muted small" }, "as the kernel shows it")),
          checks(health.checks ?? [])),
        h("div", { class: "column" },
          panel("Process", facts([["Version", engine.version], ["Up since", time(engine.startedAtMs)], ["Build", h("code", {}, String(workers.build_id ?? "").slice(0, 12))], ["Started workers", number(workers.spawned)], ["Killed", number(workers.killed)], ["Crashed", number(workers.crashed)], Number.isFinite(http.connections) && ["Connections", `${number(http.connections)} of ${number(http.maxConnections)}`], ["Streams", `${number(http.streams)} of ${number(http.maxStreams)}`], ["Stalls of the loop", number(loop.stalls)]])),
          panel("MCP servers", mcp.length ? h("ul", { class: "layers" }, mcp.map(server)) : h("p", { class: "pad muted" }, "None.")),
          folded("Limits", limits, open), folded("Settings", settings, open))));
  }

  read();
  return () => {
    isGone = true;
    clearTimeout(timer);
  };
}

function tile(name, value, told, share) {
  const meter = h("i", { class: "meter", "aria-hidden": "true" });
  if (share !== undefined && Number.isFinite(share)) meter.style.setProperty("--share", `${Math.round(Math.min(1, share) * 100)}%`);
  return h("div", { class: "tile" }, h("span", { class: "tile-name" }, name), h("b", {}, value), h("span", { class: "muted small" }, told), share !== undefined && meter);
}

function dotted(kind, name, word, detail) {
  return h("li", {}, h("span", { class: "status", dataset: { kind } }, h("i", { class: "dot", "aria-hidden": "true" }), h("b", {}, visible(name))), h("span", { class: "muted" }, visible(word)), detail && h("span", { class: "muted small detail" }, visible(detail)));
}

function layer(one) {
  return dotted(GOOD.has(one.status) ? "completed" : "asks", one.name, one.status, one.detail);
}

function server(one) {
  const kind = one.state === "connected" ? "completed" : one.state === "failed" || one.state === "lost" ? "failed" : "waiting";
  return dotted(kind, one.server, one.state, `${plural(one.tools ?? 0, "tool")}${one.reason ? ` · ${one.reason}` : ""}`);
}

function checks(found) {
  if (!found.length) return null;
  return panel("Checks", h("ul", { class: "layers" }, found.map((check) => dotted(GOOD.has(check.status) ? "completed" : "failed", check.name ?? check.check ?? "", check.status ?? "", check.reason ?? check.detail))));
}

function folded(name, values, open) {
  const rows = Object.entries(values).map(([key, value]) => h("tr", {}, h("th", { scope: "row" }, words(key)), h("td", { class: "num" }, typeof value === "object" ? JSON.stringify(value) : typeof value === "number" ? number(value) : String(value))));
  return h("details", { class: "panel", dataset: { name }, open: open.has(name) || undefined }, h("summary", { class: "panel-head" }, h("h2", {}, name), h("span", { class: "muted small" }, plural(rows.length, "value"))), h("table", { class: "values" }, h("tbody", {}, rows)));
}
