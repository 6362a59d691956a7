// The catalog, searched as a model searches it, and the exact text that a model is shown.

import { get, part } from "./api.js";
import { fill, h, icon, visible } from "./dom.js";
import { number, plural } from "./format.js";
import { copyButton, empty, facts, failure, json, panel } from "./parts.js";

export function toolsView(place, [open]) {
  let offset = 0;
  let typing = 0;
  let asking = 0;
  const field = h("input", { type: "search", placeholder: "What should be done? As a program would ask", "aria-label": "Search tools as a model does", spellcheck: false });
  const summary = h("p", { class: "muted summary", role: "status" });
  const list = h("ul", { class: "tool-list" });
  const more = h("div", {});
  const detail = h("div", { class: "tool-detail", "aria-live": "polite" });
  const shown = h("div", {});
  fill(place,
    h("header", { class: "page-head" }, h("h1", {}, "Tools"), summary),
    h("div", { class: "bar" }, h("label", { class: "search wide" }, icon("search"), field, h("kbd", { "aria-hidden": "true" }, "/"))),
    h("div", { class: "columns tools-columns" }, h("div", { class: "column" }, list, more), h("div", { class: "column" }, detail, shown)));

  async function read(append = false) {
    const mine = ++asking;
    if (!append) offset = 0;
    try {
      const found = await get("/v1/tools", { q: field.value.trim(), limit: 50, offset });
      if (mine !== asking) return;
      if (!append) list.replaceChildren();
      for (const tool of found.tools) list.append(item(tool));
      offset += found.tools.length;
      const sources = Object.entries(found.sources ?? {}).map(([name, count]) => `${number(count)} ${name}`).join(", ");
      fill(summary, field.value.trim() ? plural(found.tools.length, "hit") : `${plural(found.total, "tool")}${sources ? `: ${sources}` : ""}`);
      fill(more, offset < found.total && found.tools.length > 0 && !field.value.trim() && h("button", { type: "button", on: { click: () => read(true) } }, `Show more of ${number(found.total)}`),
        offset === 0 && empty(field.value.trim() ? "Nothing found" : "No tools", field.value.trim() ? "A program that searches with these words gets no hit either." : "This engine offers no tools under its policy."));
    } catch (refused) {
      fill(more, failure(refused, read));
    }
  }

  function item(tool) {
    return h("li", {}, h("button", { type: "button", class: "tool", dataset: { tool: tool.id }, "aria-pressed": "false", on: { click: () => choose(tool.id) } },
      h("span", { class: "tool-top" }, h("code", {}, visible(tool.name)), h("span", { class: "tag" }, visible(tool.owner || tool.source)), tool.requiresApproval && h("span", { class: "tag asks" }, "needs a yes"), tool.readOnly && h("span", { class: "tag" }, "reads")),
      h("span", { class: "tool-text" }, visible(tool.description ?? ""))));
  }

  async function choose(id) {
    for (const one of list.querySelectorAll(".tool")) one.setAttribute("aria-pressed", one.dataset.tool === id ? "true" : "false");
    try {
      const tool = await get(`/v1/tools/${part(id)}`);
      fill(detail, panel(tool.name, h("div", { class: "pad" },
        h("p", {}, visible(tool.description ?? "")),
        h("pre", { class: "call-line" }, visible(tool.call ?? "")),
        tool.declaration && [h("h3", {}, "As a program sees it"), h("pre", { class: "declaration" }, visible(tool.declaration.replace(/^ {2}/gm, "")))],
        tool.parameters && [h("h3", {}, "Parameters"), json(tool.parameters)],
        tool.returns && [h("h3", {}, "Returns"), json(tool.returns)]),
      [h("code", { class: "muted small" }, visible(tool.id)), copyButton(tool.call ?? tool.name, "call")]));
      if (matchMedia("(max-width: 900px)").matches) detail.scrollIntoView({ block: "start" });
    } catch (refused) {
      fill(detail, failure(refused, () => choose(id)));
    }
  }

  async function prompt() {
    try {
      const found = await get("/v1/prompt");
      if (!found.active) {
        fill(shown, panel("What the model sees", h("p", { class: "pad muted" }, "Code mode is off: models get the tools themselves.")));
        return;
      }
      const saved = found.directTokens > found.toolsTokens ? `${Math.round((1 - found.toolsTokens / found.directTokens) * 100)} %` : "–";
      fill(shown, panel("What the model sees", [
        facts([["Description of exec", `${number(found.tokens)} tokens`], ["exec and wait together", `${number(found.toolsTokens)} tokens`], ["All tools one by one", `${number(found.directTokens)} tokens`], ["Saved", saved]]),
        (found.warnings ?? []).map((text) => h("p", { class: "notice" }, visible(text))),
        h("pre", { class: "description", tabIndex: 0, "aria-label": "The exact description of exec" }, visible(found.description)),
        found.prompt && h("details", { class: "pad" }, h("summary", {}, "In the system prompt"), h("pre", { class: "description" }, visible(found.prompt))),
      ], copyButton(found.description, "description")));
    } catch (refused) {
      fill(shown, failure(refused, prompt));
    }
  }

  field.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => read(), 180);
  });
  read();
  prompt();
  if (open) choose(decodeURIComponent(open));
  return () => clearTimeout(typing);
}
