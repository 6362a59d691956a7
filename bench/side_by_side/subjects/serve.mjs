// The loop that every Node subject runs; serve.py says what it does and is its twin.
// A subject is an object with run(program) and, where the engine has it, hold, keep and limit.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { deflateSync } from "node:zlib";

export const now = () => performance.now();

// packages are installed apart from this file, each peer in a folder of its own
const packages = createRequire(`${process.env.PEER_FOLDER}/subject.js`);
export const find = (name) => packages.resolve(name);
export const load = (name) => import(pathToFileURL(find(name)));

export class Lacks extends Error {}

let waiting = 0;
export async function double({ i }) {
  if (i < 0) {
    waiting++;
    await new Promise(() => {});
  }
  return { value: i * 2 };
}

export async function serve(subject) {
  for await (const line of createInterface({ input: process.stdin })) {
    console.log(JSON.stringify(await answer(subject, JSON.parse(line))));
  }
  process.exit(0);
}

async function answer(subject, request) {
  try {
    return { columns: await verbs[request.verb](subject, request) };
  } catch (error) {
    if (error instanceof Lacks) return { lacks: error.message };
    return { error: `${error?.name}: ${error?.message ?? error}`.slice(0, 300) };
  }
}

const verbs = {
  run(subject, request) {
    if (request.language !== "javascript") throw new Lacks(`runs no ${request.language}`);
    return repeated(request, async () => {
      const began = now();
      const ran = await subject.run(request.program);
      const ms = now() - began;
      check(ran.answer, request.expect);
      return { ms, inner_ms: ran.inner_ms ?? ms };
    });
  },
  hold(subject, request) {
    if (!subject.hold) throw new Lacks("has no snapshot of a program that waits");
    let packed;
    return repeated(request, async () => {
      const { answer, suspend_ms, resume_ms, snapshot } = await subject.hold(request.program);
      check(answer, request.expect);
      packed ??= deflateSync(snapshot, { level: 1 }).length;
      return { suspend_ms, resume_ms, bytes: snapshot.length, packed_bytes: packed };
    });
  },
  limit(subject, request) {
    return repeated(request, async () => ({ ms: await subject.limit(request.program, request.limit_ms) }));
  },
  async crowd(subject, request) {
    const samples = [];
    const began = now();
    const end = began + request.seconds * 1000;
    const caller = async () => {
      while (samples.length === 0 || now() < end) {
        const start = now();
        check((await subject.run(request.program)).answer, request.expect);
        samples.push(now() - start);
      }
    };
    await Promise.all(Array.from({ length: request.callers }, caller));
    return { ms: samples, per_second: [(samples.length * 1000) / (now() - began)] };
  },
  async keep(subject, request) {
    if (!subject.keep) throw new Lacks("has no snapshot of a program that waits");
    await subject.keep(request.program, request.count);
    globalThis.gc();
    return {};
  },
  async pend(subject, request) {
    const wanted = waiting + request.count;
    let failed;
    for (let i = 0; i < request.count; i++) subject.run(request.program).catch((error) => (failed = error));
    while (waiting < wanted) {
      if (failed) throw failed;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    globalThis.gc();
    return {};
  },
};

async function repeated(request, once) {
  const began = now();
  const first = await once();
  const giveUp = began + request.at_most_seconds * 1000;
  const rows = request.warm_up && now() < giveUp ? [] : [first];
  globalThis.gc();
  const end = now() + request.seconds * 1000;
  while (rows.length === 0 || (now() < giveUp && (rows.length < request.least || now() < end))) {
    rows.push(await once());
  }
  return Object.fromEntries(Object.keys(first).map((name) => [name, rows.map((row) => row[name])]));
}

function check(answer, expected) {
  if (JSON.stringify(answer) !== JSON.stringify(expected)) {
    throw new Error(`answered ${JSON.stringify(answer)}, expected ${JSON.stringify(expected)}`);
  }
}
