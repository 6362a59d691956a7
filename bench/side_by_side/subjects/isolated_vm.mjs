// npm isolated-vm: a V8 isolate per run, in the process that asks. V8 cannot snapshot a program that waits.
import { asFunction } from "./as_function.mjs";
import { double, load, now, serve } from "./serve.mjs";

const { default: ivm } = await load("isolated-vm");
const TOOL = `globalThis.tool = async (a) =>
  JSON.parse(await __call.apply(undefined, [JSON.stringify(a)], { result: { promise: true, copy: true } }));`;

async function run(program) {
  const isolate = new ivm.Isolate({ memoryLimit: 256 });
  const context = await isolate.createContext();
  const call = new ivm.Reference(async (text) => JSON.stringify(await double(JSON.parse(text))));
  await context.global.set("__call", call);
  await context.eval(TOOL);
  const began = now();
  const answer = await context.eval(asFunction(program), { promise: true, copy: true });
  const inner_ms = now() - began;
  isolate.dispose();
  return { answer, inner_ms };
}

async function limit(program, limit_ms) {
  const isolate = new ivm.Isolate({ memoryLimit: 256 });
  const context = await isolate.createContext();
  const began = now();
  try {
    await context.eval(program, { timeout: limit_ms });
  } catch {
    return now() - began;
  } finally {
    isolate.dispose();
  }
  throw new Error("the program was not stopped");
}

await serve({ run, limit });
