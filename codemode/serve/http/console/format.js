// Numbers and times as people read them.

const UNITS = ["B", "KB", "MB", "GB"];

export function bytes(count) {
  if (!Number.isFinite(count)) return "–";
  let unit = 0;
  while (count >= 1000 && unit < UNITS.length - 1) {
    count /= 1000;
    unit += 1;
  }
  return `${unit === 0 || count >= 100 ? Math.round(count) : count.toFixed(1)} ${UNITS[unit]}`;
}

export function duration(ms) {
  if (!Number.isFinite(ms)) return "–";
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.round((seconds % 86400) / 3600)} h`;
}

export function ago(atMs, now = Date.now()) {
  const ms = now - atMs;
  if (ms < 5000) return "just now";
  return `${coarse(ms)} ago`;
}

export function until(atMs, now = Date.now()) {
  return atMs <= now ? "now" : `in ${coarse(atMs - now)}`;
}

function coarse(ms) {
  const seconds = ms / 1000;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

const clock = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
export function moment(atMs) {
  return Number.isFinite(atMs) ? clock.format(atMs) : "–";
}

const counts = new Intl.NumberFormat();
export function number(value) {
  return Number.isFinite(value) ? counts.format(value) : "–";
}

export function plural(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** `run_` and the first characters: enough to tell runs of one page apart. */
export function shortId(runId) {
  return String(runId).replace(/^run_/, "").slice(0, 8);
}

/** 'timeoutMs' as 'timeout ms': the names of settings as words. */
export function words(name) {
  return name.replace(/_/g, " ").replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
}
