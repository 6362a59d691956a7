// The keys, in a dialog.

import { button, h } from "./dom.js";

const KEYS = [
  ["g then r, i, t, e", "runs, inbox, tools, engine"],
  ["/", "search on this page"],
  ["j, k or arrows", "next, previous entry"],
  ["Enter", "open the entry"],
  ["a", "approve the chosen request"],
  ["d", "deny it, with a reason"],
  ["u", "from a run back to the list"],
  ["Esc", "leave a field"],
];

export function openHelp() {
  const dialog = h("dialog", { class: "help", "aria-labelledby": "help-title" },
    h("h2", { id: "help-title" }, "Keys"),
    h("dl", {}, KEYS.map(([keys, what]) => [h("dt", {}, keys.split(" ").map((word) => (/^(then|or)$/.test(word) ? ` ${word} ` : [h("kbd", {}, word.replace(",", "")), " "]))), h("dd", {}, what)])),
    button("Close", () => dialog.close(), { class: "primary" }),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** Asks before something that cannot be undone. */
export function confirmThat(question, yes, run) {
  const dialog = h("dialog", { class: "confirm", "aria-labelledby": "confirm-title" },
    h("h2", { id: "confirm-title" }, question),
    h("div", { class: "buttons" },
      button("Cancel", () => dialog.close()),
      button(yes, () => { dialog.close(); run(); }, { class: "danger" }),
    ),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
