// A quickjs-wasi VM whose tool calls survive a snapshot: the guest keeps the resolvers, calls and results are JSON.
import { asFunction } from "./as_function.mjs";

const PRELUDE = `{ const waiting = new Map(); let count = 0;
  globalThis.tool = (a) => new Promise((resolve) => { waiting.set(++count, resolve); __call(count, JSON.stringify(a)); });
  globalThis.__settle = (id, text) => { const resolve = waiting.get(id); waiting.delete(id); resolve(JSON.parse(text)); }; }`;

export const options = (wasm, expired = () => false) => ({
  wasm,
  memoryLimit: 256 << 20,
  timezoneOffset: 0,
  interruptHandler: expired,
});

// calls: an array that receives { id, text } for each call of the guest
export function attach(vm, calls, { restored = false } = {}) {
  const receive = (id, text) => {
    calls.push({ id: id.toNumber(), text: text.toString() });
    return vm.undefined;
  };
  if (restored) return vm.registerHostCallback("__call", receive);
  vm.newFunction("__call", receive).consume((f) => vm.setProp(vm.global, "__call", f));
  vm.evalCode(PRELUDE).dispose();
}

export function start(vm, program) {
  vm.evalCode(`globalThis.__run = ${asFunction(program)}; 0`).dispose();
  vm.executePendingJobs();
}

export function settle(vm, id, text) {
  const [f, number, string] = [vm.global.getProp("__settle"), vm.newNumber(id), vm.newString(text)];
  vm.callFunction(f, vm.undefined, number, string).dispose();
  for (const handle of [f, number, string]) handle.dispose();
  vm.executePendingJobs();
}

export async function answerOf(vm) {
  const promise = vm.global.getProp("__run");
  const result = await vm.resolvePromise(promise);
  promise.dispose();
  if (result.error) throw new Error(result.error.consume((e) => e.toString()));
  return result.value.consume((value) => vm.dump(value));
}
