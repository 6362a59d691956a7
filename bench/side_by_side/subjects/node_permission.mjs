// A `node --permission` process per run with a vm context in it, as OpenClaw's tool_search_code has it. Messages go
// at once, without that one's timer: the best case. A vm context is no boundary; the process and its flag are.
import { spawn } from "node:child_process";
import { asFunction } from "./as_function.mjs";
import { double, now, serve } from "./serve.mjs";

const CHILD = `import vm from "node:vm";
const pending = new Map();
let count = 0;
const call = (text) => new Promise((resolve) => {
  pending.set(++count, resolve);
  process.send({ id: count, text });
});
process.on("message", async (message) => {
  if (message.id) return pending.get(message.id)(message.text);
  const context = vm.createContext({ __call: call }, { codeGeneration: { strings: false, wasm: false } });
  vm.runInContext("globalThis.tool = async (a) => JSON.parse(await __call(JSON.stringify(a)))", context);
  process.send({ started: true });
  const began = performance.now();
  const answer = await vm.runInContext(message.program, context);
  process.send({ answer, inner_ms: performance.now() - began });
});`;

function child() {
  const flags = ["--no-warnings", "--permission", "--input-type=module", "--eval", CHILD];
  return spawn(process.execPath, flags, { cwd: "/", env: {}, stdio: ["ignore", "ignore", "inherit", "ipc"] });
}

function run(program) {
  return new Promise((resolve, reject) => {
    const process = child();
    process.once("exit", () => reject(new Error("the process ended")));
    process.on("message", async (message) => {
      if (message.id) {
        process.send({ id: message.id, text: JSON.stringify(await double(JSON.parse(message.text))) });
      } else if ("answer" in message) {
        process.removeAllListeners();
        process.kill("SIGKILL");
        resolve(message);
      }
    });
    process.send({ program: asFunction(program) });
  });
}

function limit(program, limit_ms) {
  return new Promise((resolve) => {
    const process = child();
    let began;
    process.once("message", () => {
      began = now();
      setTimeout(() => process.kill("SIGKILL"), limit_ms);
    });
    process.once("exit", () => resolve(now() - began));
    process.send({ program });
  });
}

await serve({ run, limit });
