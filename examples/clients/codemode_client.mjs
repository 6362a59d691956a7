// A reference host in JavaScript for `codemode serve --stdio`: plain Node, no dependency.
//
// The protocol is docs/json-rpc.md. Copy this file and change it.
//
//   const client = await Client.start(["codemode", "serve", "--stdio"], {
//     tools: [{ name: "add", parameters: {...}, run: async ({ a, b }) => a + b }],
//   });
//   let result = await client.exec("return await tools.add({ a: 1, b: 2 })", { session: "s1" });
//   while (result.status === "waiting") result = await client.wait(result.runId, { session: "s1" });
//   await client.shutdown();

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const PROTOCOL_VERSION = 1;
const TOOL_FAILED = 1;
const METHOD_NOT_FOUND = -32601;

/** The engine answered with an error of the protocol; a program that fails is a result and no error. */
export class EngineError extends Error {
  constructor({ code, message, data }) {
    super(message);
    this.name = "EngineError";
    Object.assign(this, { code, data });
  }
}

/** Thrown by a tool: the program gets the message and the data, and can catch it. */
export class ToolFailed extends Error {
  constructor(message, data = null, code = TOOL_FAILED) {
    super(message);
    Object.assign(this, { data, code });
  }
}

/** One engine in a child process. Requests may run side by side. */
export class Client {
  #tools; #onEvent; #approve;
  #number = 0;
  #answers = new Map(); // our requests: id -> { resolve, reject }
  #calls = new Map(); // the engine's: id -> AbortController

  /**
   * `tools`: descriptors with `run(arguments, { signal, progress, runId, callId, idempotencyKey, session })`.
   * `onEvent(event)` hears what happens in runs; `approve(request)` gives { decision, reason? }.
   */
  static async start(command, { tools = [], onEvent, approve, env } = {}) {
    const client = new Client(command, { tools, onEvent, approve, env });
    client.server = await client.request("initialize", {
      protocolVersion: PROTOCOL_VERSION,
      client: { name: "codemode_client.mjs" },
      tools: tools.map(({ run, ...described }) => described),
      events: onEvent !== undefined,
      approvals: approve !== undefined,
    });
    return client;
  }

  constructor([program, ...args], { tools, onEvent, approve, env }) {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    this.#onEvent = onEvent;
    this.#approve = approve;
    this.process = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"], env });
    this.process.stdin.on("error", () => {}); // an engine that is gone is noticed by its output
    this.exited = new Promise((resolve) => this.process.on("close", resolve));
    const lines = createInterface({ input: this.process.stdout, crlfDelay: Infinity });
    lines.on("line", (line) => this.#take(JSON.parse(line)));
    this.process.on("error", (error) => this.#end(error));
    this.process.on("close", () => this.#end(new Error("the engine ended before it answered")));
  }

  // ---- requests ---------------------------------------------------------------------------------------------

  prepare(params = {}) {
    return this.request("prepare", params);
  }

  /** `program` is its text, or the input object as a model sent it. `signal` cancels the request and the run. */
  exec(program, { signal, ...params } = {}) {
    const input = typeof program === "string" ? { code: program } : program;
    return this.request("exec", { input, ...params }, signal);
  }

  wait(runId, { signal, ...params } = {}) {
    return this.request("wait", { input: { runId }, ...params }, signal);
  }

  async abort(runId, params = {}) {
    return (await this.request("abort", { runId, ...params })).aborted;
  }

  async approve(runId, approvalId, params = {}) {
    return (await this.request("approve", { runId, approvalId, ...params })).decided;
  }

  async deny(runId, approvalId, params = {}) {
    return (await this.request("deny", { runId, approvalId, ...params })).decided;
  }

  /** Ends the engine; gives its exit code. Closing the pipe, or our own end, does the same less politely. */
  async shutdown() {
    await this.request("shutdown");
    this.process.stdin.end();
    return this.exited;
  }

  request(method, params = {}, signal = undefined) {
    const id = ++this.#number;
    const cancel = () => this.#send({ method: "cancel", params: { id } });
    return new Promise((resolve, reject) => {
      this.#answers.set(id, { resolve, reject });
      this.#send({ id, method, params });
      signal?.addEventListener("abort", cancel, { once: true });
    }).finally(() => {
      signal?.removeEventListener("abort", cancel);
      this.#answers.delete(id);
    });
  }

  #send(message) {
    // the id comes first: the engine can then name a message that is too long for it
    this.process.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  // ---- what the engine sends --------------------------------------------------------------------------------

  #take({ id, method, params, result, error }) {
    if (method === undefined) {
      const answer = this.#answers.get(id);
      if (error) answer?.reject(new EngineError(error));
      else answer?.resolve(result);
    } else if (method === "cancel") {
      this.#calls.get(params.id)?.abort();
    } else if (method === "event") {
      this.#onEvent?.(params);
    } else if (id !== undefined) {
      this.#serve(id, method, params);
    }
  }

  /** Runs what the engine asks for. A call that was cancelled is answered too: the engine waits for it. */
  async #serve(id, method, params) {
    const control = new AbortController();
    this.#calls.set(id, control);
    try {
      this.#send({ id, result: await this.#run(id, method, params, control.signal) });
    } catch (error) {
      const { code = TOOL_FAILED, message = String(error), data = null } = error ?? {};
      this.#send({ id, error: { code: Number.isInteger(code) ? code : TOOL_FAILED, message, data } });
    } finally {
      this.#calls.delete(id);
    }
  }

  async #run(id, method, params, signal) {
    if (method === "approvals/ask" && this.#approve) return this.#approve(params);
    const tool = method === "tools/call" ? this.#tools.get(params.name) : undefined;
    if (!tool) throw new ToolFailed(`this host has no ${method} ${params.name ?? ""}`, null, METHOD_NOT_FOUND);
    const progress = (value) => this.#send({ method: "progress", params: { id, progress: value } });
    const { runId, callId, idempotencyKey, session } = params;
    const value = await tool.run(params.arguments, { signal, progress, runId, callId, idempotencyKey, session });
    return { value: value ?? null };
  }

  #end(error) {
    for (const control of this.#calls.values()) control.abort();
    for (const { reject } of this.#answers.values()) reject(error);
  }
}
