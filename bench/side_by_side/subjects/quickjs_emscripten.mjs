// npm quickjs-emscripten in the process that asks: a runtime and context per VM, all in one WebAssembly memory.
import { asFunction } from "./as_function.mjs";
import { double, load, now, serve } from "./serve.mjs";

const { getQuickJS } = await load("quickjs-emscripten");
const quickjs = await getQuickJS();
const TOOL = "globalThis.tool = async (a) => JSON.parse(await __call(JSON.stringify(a)));";

function freshVm(expired = () => false) {
  const runtime = quickjs.newRuntime();
  runtime.setMemoryLimit(256 << 20);
  runtime.setInterruptHandler(expired);
  const context = runtime.newContext();
  return { runtime, context };
}

function attach({ runtime, context }) {
  const call = context.newFunction("__call", (text) => {
    const promise = context.newPromise();
    double(JSON.parse(context.getString(text))).then((value) => {
      context.newString(JSON.stringify(value)).consume((string) => promise.resolve(string));
      runtime.executePendingJobs();
    });
    return promise.handle;
  });
  call.consume((f) => context.setProp(context.global, "__call", f));
  context.unwrapResult(context.evalCode(TOOL)).dispose();
}

async function run(program) {
  const vm = freshVm();
  const { runtime, context } = vm;
  attach(vm);
  const began = now();
  const promise = context.unwrapResult(context.evalCode(asFunction(program)));
  const settled = context.resolvePromise(promise);
  promise.dispose();
  runtime.executePendingJobs();
  const answer = context.unwrapResult(await settled).consume((value) => context.dump(value));
  const inner_ms = now() - began;
  context.dispose();
  runtime.dispose();
  return { answer, inner_ms };
}

async function limit(program, limit_ms) {
  const began = now();
  const { runtime, context } = freshVm(() => now() > began + limit_ms);
  const result = context.evalCode(program);
  const took = now() - began;
  if (!result.error) throw new Error("the program was not stopped");
  result.error.dispose();
  context.dispose();
  runtime.dispose();
  return took;
}

await serve({ run, limit });
