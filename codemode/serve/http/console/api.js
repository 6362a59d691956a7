// Asks the server. Every refusal has one shape; what it says is shown as it is.

const KEY = "codemode.token";
/** Who the token is, as /v1/whoami tells it. */
export const me = { rights: [] };
let token = sessionStorage.getItem(KEY) ?? "";
const listeners = new Set();

export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export function setToken(value) {
  token = value;
  if (value) sessionStorage.setItem(KEY, value);
  else sessionStorage.removeItem(KEY);
}

export function hasToken() {
  return token !== "";
}

/** Calls `run` when the server wants a token that we do not have. */
export function onLocked(run) {
  listeners.add(run);
}

export function heads() {
  return token ? { Authorization: `Bearer ${token}` } : {};
}

export async function get(path, query = {}, signal = undefined) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = new URLSearchParams(given).toString();
  return answer(await reach(`${path}${search ? `?${search}` : ""}`, { headers: heads(), signal }));
}

export async function post(path, body = {}) {
  const headers = { ...heads(), "Content-Type": "application/json" };
  return answer(await reach(path, { method: "POST", headers, body: JSON.stringify(body) }));
}

async function reach(path, options) {
  try {
    return await fetch(path, { cache: "no-store", credentials: "omit", redirect: "error", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "unreachable", "The server does not answer.");
  }
}

async function answer(response) {
  const body = await response.json().catch(() => null);
  if (response.ok) return body;
  const said = body?.error;
  const refused = new Refused(response.status, said?.code ?? "unknown", said?.message ?? `The server answered ${response.status}.`);
  if (response.status === 401) for (const run of listeners) run(refused);
  throw refused;
}

export const part = encodeURIComponent;

export function may(right) {
  return me.rights.includes(right) || me.rights.includes("admin");
}

/** Whose run it is, as requests name it; names that are not there are left out. */
export function whose({ agent, session, agentRun }) {
  return Object.fromEntries(Object.entries({ agent, session, agentRun }).filter(([, name]) => name));
}
