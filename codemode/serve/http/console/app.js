// The frame: navigation, the page that the address names, keys, theme, and the token if one is needed.

import { get, hasToken, me, onLocked, setToken } from "./api.js";
import { button, fill, h, icon, tell, toasts } from "./dom.js";
import { close, listen, open, streamState } from "./events.js";
import { openHelp } from "./help.js";
import { engineView } from "./view_engine.js";
import { inboxView } from "./view_inbox.js";
import { runView } from "./view_run.js";
import { runsView } from "./view_runs.js";
import { toolsView } from "./view_tools.js";

const PAGES = [
  { name: "runs", label: "Runs", key: "r", view: runsView },
  { name: "inbox", label: "Inbox", key: "i", view: inboxView },
  { name: "tools", label: "Tools", key: "t", view: toolsView },
  { name: "engine", label: "Engine", key: "e", view: engineView },
];
const STATES = { connecting: "Connecting …", live: "Live", lost: "Connection lost, trying again", locked: "Signed out" };
const THEMES = ["auto", "light", "dark"];

const shell = document.getElementById("shell");
const main = h("main", { id: "main", tabIndex: -1 });
const badge = h("span", { class: "badge", hidden: true });
const light = h("span", { class: "light", dataset: { state: "connecting" } });
const lightText = h("span", { class: "light-text" }, STATES.connecting);
const who = h("span", { class: "who" });
let leave = () => {};
let pending = "";

function draw() {
  const links = PAGES.map(({ name, label, key }) =>
    h("a", { href: `#/${name}`, class: "nav-link", dataset: { page: name }, title: `${label} (g ${key})` }, icon(name), h("span", {}, label), name === "inbox" && badge),
  );
  const themeButton = button([icon("theme"), h("span", { class: "theme-name" }, theme())], () => changeTheme(themeButton), { class: "quiet theme", "aria-label": `Theme: ${theme()}`, title: "Change the theme" });
  fill(
    shell,
    h("header", { class: "side" },
      h("a", { href: "#/runs", class: "brand", "aria-label": "codemode console" }, h("span", { class: "mark", "aria-hidden": "true" }), h("span", { class: "brand-name" }, "codemode")),
      h("nav", { class: "nav", "aria-label": "Pages" }, links),
      h("div", { class: "foot" },
        h("p", { class: "stream", title: "The stream of events from the server" }, light, lightText),
        who,
        h("div", { class: "foot-buttons" }, themeButton, button(icon("help"), openHelp, { class: "quiet", "aria-label": "Keys (?)", title: "Keys (?)" })),
      ),
    ),
    main,
    toasts,
  );
}

// ---- theme --------------------------------------------------------------------------------------------------

function theme() {
  const kept = localStorage.getItem("codemode.theme");
  return THEMES.includes(kept) ? kept : "auto";
}

function changeTheme(pressed) {
  const next = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
  localStorage.setItem("codemode.theme", next);
  document.documentElement.dataset.theme = next;
  pressed.querySelector(".theme-name").textContent = next;
  pressed.setAttribute("aria-label", `Theme: ${next}`);
  tell(`Theme: ${next}`);
}

// ---- pages --------------------------------------------------------------------------------------------------

function show() {
  const [name = "runs", ...rest] = location.hash.replace(/^#\/?/, "").split("?")[0].split("/").filter(Boolean);
  const page = PAGES.find((one) => one.name === name) ?? PAGES[0];
  leave();
  for (const link of shell.querySelectorAll(".nav-link")) {
    if (link.dataset.page === page.name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const place = h("div", { class: `page page-${page.name}` });
  fill(main, place);
  const inner = page.name === "runs" && rest.length ? runView(place, decodeURIComponent(rest.join("/"))) : page.view(place, rest);
  leave = inner ?? (() => {});
  const title = rest.length && page.name === "runs" ? "Run" : page.label;
  document.title = `${title} · codemode`;
  window.scrollTo(0, 0);
  main.focus({ preventScroll: true });
}

// ---- the inbox's number -------------------------------------------------------------------------------------

let counting = 0;
async function countApprovals() {
  clearTimeout(counting);
  try {
    const { approvals, more } = await get("/v1/approvals", { limit: 100 });
    const count = approvals.length + (more ?? 0);
    badge.hidden = count === 0;
    badge.textContent = count > 99 ? "99+" : String(count);
    badge.setAttribute("aria-label", `${count} open`);
  } catch {
    badge.hidden = true;
  }
}

function onEvent(event) {
  if (event.type === "state") {
    light.dataset.state = streamState();
    lightText.textContent = STATES[streamState()];
  } else if (event.type === "approval_opened") {
    tell(`${event.name} waits for an approval`, "asks");
  }
  if (event.type.startsWith("approval_") || event.type === "again" || event.type === "finished") {
    clearTimeout(counting);
    counting = setTimeout(countApprovals, 150);
  }
}

// ---- keys ---------------------------------------------------------------------------------------------------

function onKey(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, dialog")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (pending === "g") {
    pending = "";
    const page = PAGES.find((one) => one.key === event.key);
    if (page) {
      event.preventDefault();
      location.hash = `#/${page.name}`;
    }
    return;
  }
  if (event.key === "g") {
    pending = "g";
    setTimeout(() => (pending = ""), 1500);
  } else if (event.key === "?") {
    event.preventDefault();
    openHelp();
  } else if (event.key === "/") {
    const field = main.querySelector("input[type=search]");
    if (field) {
      event.preventDefault();
      field.focus();
      field.select();
    }
  }
}

// ---- the token ----------------------------------------------------------------------------------------------

function ask(refused) {
  close();
  leave();
  leave = () => {};
  const field = h("input", { type: "password", id: "token", autocomplete: "off", spellcheck: false, required: true });
  const enter = async (event) => {
    event.preventDefault();
    setToken(field.value.trim());
    await begin();
  };
  fill(
    main,
    h("div", { class: "page sign-in" },
      h("form", { class: "card", on: { submit: enter } },
        icon("key"),
        h("h1", {}, "A token, please"),
        h("p", { class: "muted" }, "This server wants a bearer token. It is kept for this tab only. ", h("code", {}, "codemode tokens new"), " makes one."),
        hasToken() && refused && h("p", { class: "bad-text", role: "alert" }, "That is not a token of this server."),
        h("label", { for: "token" }, "Token"),
        field,
        h("button", { class: "primary", type: "submit" }, "Sign in"),
      ),
    ),
  );
  field.focus();
}

async function begin() {
  try {
    const found = await get("/v1/whoami");
    Object.assign(me, found);
    fill(who, found.tokens === false ? "no token needed" : found.name);
  } catch (refused) {
    if (refused.status === 401) return;
    tell(refused.message, "bad");
  }
  open();
  show();
  countApprovals();
}

draw();
onLocked((refused) => ask(refused));
listen(onEvent);
addEventListener("hashchange", show);
addEventListener("keydown", onKey);
document.documentElement.dataset.theme = theme();
begin();
