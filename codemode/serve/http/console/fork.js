// A run's past, and going on from it in a copy.

import { may, part, post, whose } from "./api.js";
import { button, h, tell, visible } from "./dom.js";
import { bytes, plural } from "./format.js";
import { time } from "./parts.js";

/** The moments that are kept, the latest first, each with its calls and a way to go on from there. */
export function history(run, checkpoints) {
  return h("ol", { class: "layers history" }, checkpoints.toReversed().map((one) =>
    h("li", {},
      h("span", {}, h("b", {}, `#${one.at}`), " ", time(one.keptAtMs)),
      may("run") && button("Fork", () => askFork(run, one.at, { ...one.answered, ...one.pending }), { class: "quiet", "aria-label": `Fork from moment ${one.at}` }),
      h("span", { class: "muted small detail" }, [told("answered", one.answered), told("in flight", one.pending), `${plural(one.calls, "call")} so far`, bytes(one.bytes)].filter(Boolean).join(" · ")))));
}

function told(word, calls) {
  const names = Object.entries(calls ?? {}).map(([id, name]) => `${id} ${visible(name)}`);
  return names.length > 0 && `${word}: ${names.join(", ")}`;
}

/** Asks for other answers, makes the fork and shows it. `at` undefined: as the run is now. */
export function askFork(run, at, calls) {
  const names = Object.entries(calls).map(([id, name]) => `${id} is ${visible(name)}`).join(", ");
  const answers = h("textarea", { rows: 4, id: "fork-answers", spellcheck: false, placeholder: '{ "1": 42 }' });
  const problem = h("p", { class: "bad-text small", role: "alert" });
  const send = async (event) => {
    event.preventDefault();
    try {
      const settle = answers.value.trim() ? JSON.parse(answers.value) : {};
      const made = await post(`/v1/runs/${part(run.runId)}/fork`, { ...whose(run), ...(at === undefined ? {} : { at }), settle });
      dialog.close();
      tell("Forked: this is the copy, and it waits", "good");
      location.hash = `#/runs/${part(made.runId)}`;
    } catch (refused) {
      problem.textContent = refused instanceof SyntaxError ? "That is not JSON." : refused.message;
    }
  };
  const dialog = h("dialog", { class: "fork", "aria-labelledby": "fork-title" },
    h("form", { on: { submit: send } },
      h("h2", { id: "fork-title" }, at === undefined ? "Fork this run as it is" : `Fork from moment ${at}`),
      h("p", { class: "muted" }, "A copy that waits and goes on like any run. This one does not notice."),
      h("label", { for: "fork-answers" }, "Other answers, as JSON by the id of the call (optional)"),
      answers,
      names && h("p", { class: "muted small" }, names),
      problem,
      h("div", { class: "buttons" }, button("Cancel", () => dialog.close()), h("button", { class: "primary", type: "submit" }, "Fork"))));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
