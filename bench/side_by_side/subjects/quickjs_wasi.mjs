// npm quickjs-wasi in the process that asks: a WebAssembly instance per VM, compiled once. Its snapshot is the whole memory.
import { readFileSync } from "node:fs";
import { answerOf, attach, options, settle, start } from "./quickjs_wasi_vm.mjs";
import { double, find, load, now, serve } from "./serve.mjs";

const { QuickJS } = await load("quickjs-wasi");
const wasm = new WebAssembly.Module(readFileSync(find("quickjs-wasi/quickjs.wasm")));
const kept = [];

async function run(program) {
  const vm = await QuickJS.create(options(wasm));
  const calls = [];
  attach(vm, calls);
  const began = now();
  start(vm, program);
  while (calls.length) {
    const batch = calls.splice(0);
    const values = await Promise.all(batch.map((call) => double(JSON.parse(call.text))));
    batch.forEach((call, at) => settle(vm, call.id, JSON.stringify(values[at])));
  }
  const answer = await answerOf(vm);
  const inner_ms = now() - began;
  vm.dispose();
  return { answer, inner_ms };
}

async function waitingVm(program) {
  const vm = await QuickJS.create(options(wasm));
  attach(vm, []);
  start(vm, program);
  return vm;
}

async function hold(program) {
  let vm = await waitingVm(program);
  const began = now();
  const snapshot = QuickJS.serializeSnapshot(vm.snapshot());
  vm.dispose();
  const suspended = now();
  vm = await QuickJS.restore(QuickJS.deserializeSnapshot(snapshot), options(wasm));
  attach(vm, [], { restored: true });
  settle(vm, 1, '{"value":2}');
  const answer = await answerOf(vm);
  vm.dispose();
  return { answer, suspend_ms: suspended - began, resume_ms: now() - suspended, snapshot };
}

async function keep(program, count) {
  for (let i = 0; i < count; i++) {
    const vm = await waitingVm(program);
    kept.push(QuickJS.serializeSnapshot(vm.snapshot()));
    vm.dispose();
  }
}

async function limit(program, limit_ms) {
  let deadline = Infinity;
  const vm = await QuickJS.create(options(wasm, () => now() > deadline));
  const began = now();
  deadline = began + limit_ms;
  let stopped = false;
  try {
    vm.evalCode(program).dispose();
  } catch {
    stopped = true;
  }
  const took = now() - began;
  if (!stopped) throw new Error("the program was not stopped");
  vm.dispose();
  return took;
}

await serve({ run, hold, keep, limit });
