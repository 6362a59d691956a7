// The reference client in JavaScript at work: `node javascript_host.mjs SCENARIO ARGUMENT COMMAND…`.
// Prints one line of JSON: what the scenario saw. python_host.py has the same scenarios and must see the same.

import { EventEmitter, once } from "node:events";
import { Client, ToolFailed } from "../../../examples/clients/codemode_client.mjs";

const [scenario, argument, ...command] = process.argv.slice(2);

const SUM = `
const terms: number[] = [1, 2, 3];
const sums = await Promise.all(terms.map((a: number) => tools.add({ a, b: 10 })));
return sums;
`;
const HELD = "const held = tools.hold({}); await yield_control(); return await held";
const caught = (call) =>
  `try { return await ${call} } catch ({ name, message, code, data }) { return { name, message, code, data } }`;

const desk = { news: new EventEmitter(), runId: "", keys: [], cancelled: 0, asked: [], events: [] };
const held = new Promise((resolve) => (desk.answer = resolve));
const parameters = { type: "object" };
const tools = [
  {
    name: "add",
    description: "Adds.",
    parameters: { type: "object", required: ["a", "b"] },
    run: async ({ a, b }, { progress }) => {
      progress({ adding: a });
      return a + b;
    },
  },
  {
    name: "fail",
    description: "Fails.",
    parameters,
    run: async () => {
      throw new ToolFailed("out of paper", { tray: 2 });
    },
  },
  {
    name: "refuse",
    description: "Wants other arguments.",
    parameters,
    run: async () => {
      throw new ToolFailed("b must be even", null, -32602);
    },
  },
  {
    name: "hold",
    description: "Takes its time.",
    parameters,
    hints: { idempotent: true },
    run: async (_, { signal, runId, idempotencyKey }) => {
      desk.runId = runId;
      desk.keys.push(idempotencyKey);
      desk.news.emit("begun");
      const aborted = once(signal, "abort").then(() => {
        desk.cancelled += 1;
        desk.news.emit("cancelled");
        throw new ToolFailed("cancelled");
      });
      return Promise.race([held, aborted]);
    },
  },
  {
    name: "pay",
    description: "Pays.",
    parameters,
    hints: { requiresApproval: true },
    run: async ({ amount }) => `paid ${amount}`,
  },
];

const scenarios = {
  async nested() {
    const finished = once(desk.news, "finished");
    const onEvent = (event) => {
      desk.events.push(event);
      desk.news.emit(event.type);
    };
    const client = await Client.start(command, { tools, onEvent });
    const prepared = await client.prepare({ format: "anthropic" });
    const input = { code: SUM, language: "typescript" };
    const result = await client.exec(input, { session: "s", toolCall: "call-7" });
    await finished;
    const code = await client.shutdown();
    const started = desk.events.find((event) => event.type === "started");
    return {
      protocol: client.server.protocolVersion,
      shown: prepared.tools.map((tool) => tool.name),
      value: result.value,
      toolCall: started.toolCall,
      updates: desk.events.filter((event) => event.type === "call_update").map((event) => event.progress),
      code,
    };
  },

  async waiting() {
    const client = await Client.start(command, { tools });
    const first = await client.exec(HELD, { session: "s" });
    const foreign = await client.wait(first.runId, { session: "other" });
    desk.answer("late");
    const second = await client.wait(first.runId, { session: "s" });
    await client.shutdown();
    return {
      first: [first.status, first.reason, first.pendingToolCalls.map((call) => call.method)],
      foreign: [foreign.status, foreign.code],
      second: [second.status, second.value],
    };
  },

  async abort() {
    const client = await Client.start(command, { tools });
    const begun = once(desk.news, "begun");
    const running = client.exec("return await tools.hold({})");
    await begun;
    const aborted = await client.abort(desk.runId);
    const result = await running;
    const again = await client.abort(desk.runId);
    await client.shutdown();
    return { aborted, code: result.code, cancelled: desk.cancelled, again };
  },

  async cancel() {
    const client = await Client.start(command, { tools });
    const begun = once(desk.news, "begun");
    const cancelled = once(desk.news, "cancelled");
    const control = new AbortController();
    const running = client.exec("return await tools.hold({})", { signal: control.signal });
    await begun;
    control.abort();
    const error = await running.catch((error) => error);
    if (error.code !== -32800) throw error;
    await cancelled;
    const { runs } = await client.request("runs");
    await client.shutdown();
    return { cancelled: desk.cancelled, runs };
  },

  async approval() {
    const client = await Client.start(command, { tools });
    const first = await client.exec("return await tools.pay({ amount: 3 })");
    const asked = first.pendingToolCalls[0].approval;
    const decided = await client.approve(first.runId, asked.id);
    const yes = await client.wait(first.runId);
    const second = await client.exec(caught("tools.pay({ amount: 4 })"));
    await client.deny(second.runId, second.pendingToolCalls[0].approval.id, { reason: "too much" });
    const no = await client.wait(second.runId);
    const unknown = await client.approve(second.runId, "apr_nothing");
    await client.shutdown();
    return {
      reason: first.reason,
      summary: asked.summary,
      decided,
      yes: yes.value,
      no: no.value.code,
      unknown,
    };
  },

  async asked() {
    const approve = async (request) => {
      desk.asked.push(request);
      return request.arguments.amount < 10 ? { decision: "approve" } : { decision: "deny", reason: "too much" };
    };
    const client = await Client.start(command, { tools, approve });
    const yes = await client.exec("return await tools.pay({ amount: 3 })");
    const no = await client.exec(caught("tools.pay({ amount: 40 })"));
    await client.shutdown();
    const asked = desk.asked.map((request) => [request.name, request.arguments]);
    return { yes: yes.value, no: no.value.code, asked };
  },

  async failure() {
    const client = await Client.start(command, { tools });
    const first = await client.exec(caught("tools.fail({})"));
    const uncaught = await client.exec("return await tools.fail({})");
    const refused = await client.exec(caught("tools.refuse({})"));
    const error = await client.request("exec", { input: {}, sesion: "s" }).catch((error) => error);
    await client.shutdown();
    return {
      caught: first.value,
      uncaught: uncaught.code,
      refused: refused.value.code,
      protocol: error.code,
    };
  },

  async leave() {
    const begun = once(desk.news, "begun");
    const client = await Client.start(command, { tools });
    const first = await client.exec(HELD);
    await begun;
    await client.shutdown();
    return { runId: first.runId, key: desk.keys[0], cancelled: desk.cancelled };
  },

  async come_back() {
    desk.answer("later");
    const client = await Client.start(command, { tools });
    const result = await client.wait(argument);
    await client.shutdown();
    return { value: result.value, keys: desk.keys };
  },

  async die() {
    const client = await Client.start(command, { tools });
    await client.exec(HELD);
    const begun = once(desk.news, "begun");
    client.exec("while (true) await tools.hold({})");
    await begun;
    process.kill(process.pid, "SIGKILL");
  },
};

console.log(JSON.stringify(await scenarios[scenario]()));
