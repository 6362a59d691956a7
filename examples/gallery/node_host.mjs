// A host in Node: its own tools, an engine in a child process, a person who approves.
//
//   node node_host.mjs [command that starts the engine …]       (codemode serve --stdio)
import { Client } from "../clients/codemode_client.mjs";

const command = process.argv.length > 2 ? process.argv.slice(2) : ["codemode", "serve", "--stdio"];
const stock = { tea: 3, cups: 0 };
const client = await Client.start(command, {
  tools: [
    {
      name: "count",
      description: "How many of a thing there are.",
      parameters: { type: "object", properties: { thing: { type: "string" } }, required: ["thing"] },
      run: async ({ thing }) => stock[thing] ?? 0,
    },
    {
      name: "order",
      description: "Orders things. Somebody has to approve.",
      parameters: { type: "object", properties: { thing: { type: "string" } }, required: ["thing"] },
      hints: { requiresApproval: true },
      run: async ({ thing }) => `${thing} ordered`,
    },
  ],
  approve: async (request) => {
    console.log("asked:", request.tool ?? request.summary);
    return { decision: "approve" };
  },
});
let result = await client.exec(
  `const missing = [];
   for (const thing of ["tea", "cups"]) if (!(await tools.count({ thing }))) missing.push(await tools.order({ thing }));
   return missing;`,
  { session: "shop" },
);
while (result.status === "waiting") result = await client.wait(result.runId, { session: "shop" });
console.log(result.status, JSON.stringify(result.value ?? result.error));
await client.shutdown();
