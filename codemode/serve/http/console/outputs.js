// What a run has written, from wherever it is known: the kept result, recorded values, or what was seen live here.
// A suspended run's output went to its caller; the server does not keep it unless values are recorded.

import { listen } from "./events.js";

const MAX_RUNS = 100;
const MAX_ITEMS = 200;
const seen = new Map(); // by run id, the latest last

listen((event) => {
  if (event.type === "started") seen.set(event.runId, []);
  const items = event.type === "output" && seen.get(event.runId);
  if (items && items.length < MAX_ITEMS) items.push(event.item);
  if (seen.size > MAX_RUNS) seen.delete(seen.keys().next().value);
});

/** Items in order, and how many more there were of which only the size is known. */
export function outputOf(found) {
  const legs = found.legs ?? [];
  const live = seen.get(found.run.runId) ?? [];
  const items = [];
  let missing = 0;
  legs.forEach((leg, at) => {
    const wrote = leg.output?.items ?? 0;
    const kept = at === legs.length - 1 ? (found.output ?? []) : [];
    if (kept.length > 0) items.push(...kept);
    else if (leg.output?.values) items.push(...leg.output.values.map(asItem));
    else missing += wrote;
  });
  return missing > 0 && live.length >= items.length + missing ? { items: live, missing: 0 } : { items, missing };
}

function asItem(value) {
  if (value?.mimeType && Number.isFinite(value.bytes)) return value; // content is recorded by its kind and size
  return typeof value === "string" ? { type: "text", text: value } : { type: "json", value };
}
