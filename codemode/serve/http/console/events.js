// The stream of server-sent events, read with fetch because EventSource cannot send a token. A stream that breaks
// is taken up where it broke; if something was missed, everybody is told to read again.

import { heads } from "./api.js";

const listeners = new Set();
let lastId = "";
let state = "connecting";
let stopped = null;

/** `run(event)` for each event; `{type: "again"}` if lists have to be read anew; `{type: "state"}` if that changed. */
export function listen(run) {
  listeners.add(run);
  return () => listeners.delete(run);
}

export function streamState() {
  return state;
}

export function open() {
  close();
  const stop = (stopped = new AbortController());
  keep(stop.signal);
}

export function close() {
  stopped?.abort();
  stopped = null;
}

function publish(event) {
  for (const run of [...listeners]) run(event);
}

function become(next) {
  if (state === next) return;
  state = next;
  publish({ type: "state", state });
}

async function keep(signal) {
  let pause = 500;
  while (!signal.aborted) {
    try {
      const headers = { ...heads(), Accept: "text/event-stream", ...(lastId ? { "Last-Event-ID": lastId } : {}) };
      const response = await fetch("/v1/events", { headers, cache: "no-store", credentials: "omit", signal });
      if (response.status === 401 || response.status === 403) return become("locked");
      if (!response.ok || !response.body) throw new Error(String(response.status));
      become("live");
      pause = 500;
      await read(response.body, signal);
    } catch {
      // told by the state
    }
    if (signal.aborted) return;
    become("lost");
    await new Promise((wake) => setTimeout(wake, pause));
    pause = Math.min(pause * 2, 10_000);
  }
}

async function read(body, signal) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done || signal.aborted) return;
    rest = (rest + value).replace(/\r\n?/g, "\n");
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      take(rest.slice(0, end));
      rest = rest.slice(end + 2);
    }
  }
}

function take(block) {
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("data:")) data += line.slice(5).trimStart();
    else if (line.startsWith("id:")) lastId = line.slice(3).trim();
  }
  if (!data) return;
  let event;
  try {
    event = JSON.parse(data);
  } catch {
    return;
  }
  if (event.type === "hello") {
    if (!event.isComplete) publish({ type: "again" });
  } else publish(event);
}
