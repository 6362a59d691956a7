// One leg in its thread, for quickjs_wasi_thread.mjs: start or restore, run until the VM waits or ends, and report.
import { parentPort, workerData } from "node:worker_threads";
import { answerOf, attach, options, settle, start } from "./quickjs_wasi_vm.mjs";

const now = () => performance.now();
const { QuickJS } = await import(workerData.library);

async function leg({ wasm, program, snapshot, settled, limit_ms }) {
  const calls = [];
  const deadline = now() + (limit_ms ?? Infinity);
  const vmOptions = options(wasm, () => now() > deadline);
  const vm = snapshot ? await QuickJS.restore(snapshot, vmOptions) : await QuickJS.create(vmOptions);
  attach(vm, calls, { restored: Boolean(snapshot) });
  try {
    if (!snapshot) start(vm, program);
    for (const { id, text } of settled ?? []) settle(vm, id, text);
    if (limit_ms) throw new Error("the program was not stopped");
  } catch (error) {
    parentPort.postMessage(limit_ms && now() > deadline ? { stopped: true } : { error: String(error) });
    return;
  }
  if (calls.length === 0) {
    parentPort.postMessage({ answer: await answerOf(vm) });
    return;
  }
  const taken = vm.snapshot();
  parentPort.postMessage({ calls, snapshot: taken }, [taken.memory.buffer]);
}

await leg(workerData);
