// The inbox: everything that waits for a yes, the oldest first.

import { get } from "./api.js";
import { approvalCard } from "./approval_card.js";
import { fill, h } from "./dom.js";
import { listen } from "./events.js";
import { plural } from "./format.js";
import { empty, failure } from "./parts.js";

export function inboxView(place) {
  const summary = h("p", { class: "muted summary", role: "status" });
  const list = h("div", { class: "cards" });
  const note = h("div", {});
  let cards = [];
  let timer = 0;
  fill(place, h("header", { class: "page-head" }, h("h1", {}, "Inbox"), summary), list, note);

  async function read() {
    clearTimeout(timer);
    timer = 0;
    try {
      const { approvals, more } = await get("/v1/approvals", { limit: 100 });
      draw(approvals, more ?? 0);
    } catch (refused) {
      fill(note, failure(refused, read));
    }
  }

  /** Keeps the cards that are there: somebody may be writing a reason. */
  function draw(approvals, more) {
    const known = new Map(cards.map((card) => [card.dataset.approval, card]));
    const at = cards.indexOf(document.activeElement?.closest?.(".approval"));
    cards = approvals.map((approval) => known.get(approval.id) ?? approvalCard(approval, read));
    const wanted = new Set(cards);
    for (const card of known.values()) if (!wanted.has(card)) card.remove();
    cards.forEach((card, index) => list.children[index] !== card && list.insertBefore(card, list.children[index] ?? null));
    if (at >= 0 && !wanted.has(document.activeElement?.closest?.(".approval"))) cards[Math.min(at, cards.length - 1)]?.focus();
    fill(summary, approvals.length ? `${plural(approvals.length + more, "request")} open` : "");
    fill(note, approvals.length === 0 && empty("Nothing waits for you", "When a program calls a tool that needs a yes, it is asked for here, with everything that would be sent."), more > 0 && h("p", { class: "muted" }, `${more} more after these.`));
  }

  const keys = (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, dialog")) return;
    const at = cards.indexOf(document.activeElement?.closest?.(".approval"));
    const by = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (by && cards.length) {
      event.preventDefault();
      cards[Math.max(0, Math.min(cards.length - 1, at + by))].focus();
    } else if ((event.key === "a" || event.key === "d") && cards.length) {
      event.preventDefault();
      // without a chosen one the key only chooses: nothing is approved that nobody looked at
      if (at < 0) cards[0].focus();
      else if (event.key === "a") cards[at].approve();
      else cards[at].deny();
    }
  };
  addEventListener("keydown", keys);
  const mute = listen((event) => {
    if ((event.type.startsWith("approval_") || event.type === "again" || event.type === "finished") && !timer) timer = setTimeout(read, 100);
  });
  read();
  return () => {
    clearTimeout(timer);
    removeEventListener("keydown", keys);
    mute();
  };
}
