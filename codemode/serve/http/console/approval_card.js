// One request for an approval: what would be done, with which arguments, for whom; and the two answers.

import { may, part, post, whose } from "./api.js";
import { button, fill, h, icon, tell, visible } from "./dom.js";
import { json, time } from "./parts.js";

const MAX_PARTED = 40_000; // characters that are shown in parts; more of them are one text, all the same

/** The card, with `approve()` and `deny()` for keys. `done` is called when it is decided. */
export function approvalCard(approval, done) {
  const who = whose(approval);
  const path = `/v1/runs/${part(approval.runId)}/approvals/${part(approval.id)}`;
  const reason = h("input", { type: "text", class: "reason", placeholder: "Reason, which the program gets (optional)", "aria-label": "Reason for the denial", maxLength: 500, hidden: true });
  const answer = h("textarea", { class: "answer", rows: 3, "aria-label": "Answer: text, or JSON", placeholder: "Answer: text, or JSON", hidden: !approval.isQuestion });
  const yes = button([icon("check"), approval.isQuestion ? "Answer" : "Approve", h("kbd", { "aria-hidden": "true" }, "a")], () => approve(), { class: "primary approve" });
  const no = button([icon("cross"), "Deny", h("kbd", { "aria-hidden": "true" }, "d")], () => deny(), { class: "deny" });
  const card = h("article", { class: "card approval", tabIndex: 0, "aria-label": `${approval.name}: ${visible(approval.summary)}`, dataset: { approval: approval.id } },
    h("header", {},
      h("h2", {}, h("code", {}, visible(approval.name)), h("span", { class: "tag" }, approval.isQuestion ? "asks" : "needs a yes")),
      h("p", { class: "muted small" }, "asked ", time(approval.askedAtMs), " · ends ", time(approval.expiresAtMs, true))),
    h("p", { class: "summary-line" }, visible(approval.summary)),
    argumentList(approval),
    approval.question !== null && approval.question !== undefined && h("div", { class: "question" }, h("h3", {}, "It asks"), json(approval.question, 0, true)),
    h("p", { class: "muted small whose" }, h("a", { class: "link", href: `#/runs/${part(approval.runId)}` }, "the run"), " of ", h("b", {}, visible(approval.session)), approval.agent !== "main" && ` · agent ${visible(approval.agent)}`, approval.sender && ` · from ${visible(approval.sender)}`, approval.channel && ` · by ${visible(approval.channel)}`),
    answer, reason,
    may("approve") ? h("div", { class: "buttons" }, yes, no) : h("p", { class: "muted small" }, "Your token may look, and not decide."));

  async function send(word, body) {
    yes.disabled = no.disabled = true;
    try {
      await post(`${path}/${word}`, { ...who, ...body });
      tell(word === "approve" ? `${approval.name}: approved` : `${approval.name}: denied`, word === "approve" ? "good" : "plain");
      card.classList.add("decided");
      done(approval);
    } catch (refused) {
      tell(refused.message, "bad");
      yes.disabled = no.disabled = false;
      if (refused.status === 409 || refused.status === 404) done(approval);
    }
  }

  function approve() {
    if (yes.disabled) return undefined;
    const body = { argumentsSha256: approval.argumentsSha256 };
    if (approval.isQuestion) {
      const text = answer.value.trim();
      if (!text) return answer.focus();
      try {
        body.value = JSON.parse(text);
      } catch {
        body.value = text;
      }
    }
    return send("approve", body);
  }

  /** First shows the field for the reason, then denies. */
  function deny() {
    if (no.disabled) return undefined;
    if (reason.hidden) {
      reason.hidden = false;
      fill(no, icon("cross"), "Deny now", h("kbd", { "aria-hidden": "true" }, "⏎"));
      return reason.focus();
    }
    return send("deny", reason.value.trim() ? { reason: reason.value.trim() } : {});
  }

  reason.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      deny();
    } else if (event.key === "Escape") {
      event.stopPropagation();
      reason.hidden = true;
      fill(no, icon("cross"), "Deny", h("kbd", { "aria-hidden": "true" }, "d"));
      card.focus();
    }
  });
  return Object.assign(card, { approve, deny });
}

function argumentList(approval) {
  const given = approval.arguments ?? {};
  const names = Object.keys(given);
  if (names.length === 0) return h("p", { class: "muted small" }, "Without arguments.");
  const text = JSON.stringify(given, null, 2);
  if (text.length > MAX_PARTED) return h("pre", { class: "arguments whole", tabIndex: 0, "aria-label": "All arguments" }, visible(text));
  return h("dl", { class: "arguments" }, names.map((name) => [h("dt", {}, visible(name)), h("dd", {}, typeof given[name] === "string" ? h("span", { class: "argument-text" }, visible(given[name])) : json(given[name], 1, true))]));
}
