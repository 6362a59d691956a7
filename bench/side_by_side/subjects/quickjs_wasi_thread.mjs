// npm quickjs-wasi as OpenClaw runs it: each leg in a fresh worker thread, to which the compiled module is handed over.
// Every awaited batch of calls ends the leg: the VM is snapshotted, its thread ends, the next thread restores it.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { double, find, load, now, serve } from "./serve.mjs";

const LEG = new URL("./quickjs_wasi_leg.mjs", import.meta.url);
const { QuickJS } = await load("quickjs-wasi");
const library = pathToFileURL(find("quickjs-wasi")).href;
const wasm = new WebAssembly.Module(readFileSync(find("quickjs-wasi/quickjs.wasm")));
const kept = [];

const inThread = (task) =>
  new Promise((resolve, reject) => {
    const transferList = task.snapshot ? [task.snapshot.memory.buffer] : [];
    const worker = new Worker(LEG, { workerData: { wasm, library, ...task }, transferList });
    worker.once("error", reject);
    worker.once("message", (message) => {
      worker.terminate();
      if (message.error) reject(new Error(message.error));
      else resolve(message);
    });
  });

async function run(program) {
  let outcome = await inThread({ program });
  while (outcome.calls) {
    const values = await Promise.all(outcome.calls.map((call) => double(JSON.parse(call.text))));
    const settled = outcome.calls.map((call, at) => ({ id: call.id, text: JSON.stringify(values[at]) }));
    outcome = await inThread({ snapshot: outcome.snapshot, settled });
  }
  return { answer: outcome.answer };
}

async function hold(program) {
  const began = now();
  const waiting = await inThread({ program });
  const suspended = now();
  const snapshot = QuickJS.serializeSnapshot(waiting.snapshot);
  const resuming = now();
  const settled = [{ id: 1, text: '{"value":2}' }];
  const { answer } = await inThread({ snapshot: waiting.snapshot, settled });
  // the thread cannot tell suspending from running: this is the whole first leg
  return { answer, suspend_ms: suspended - began, resume_ms: now() - resuming, snapshot };
}

async function keep(program, count) {
  for (let i = 0; i < count; i++) kept.push(QuickJS.serializeSnapshot((await inThread({ program })).snapshot));
}

async function limit(program, limit_ms) {
  const began = now();
  await inThread({ program, limit_ms });
  return now() - began;
}

await serve({ run, hold, keep, limit });
