"""The client that the conformance suite asks: an engine, with the suite's server as its one MCP server.

The suite starts it with the address as its argument and the scenario in the environment. What a scenario
wants of a client, a program does: it calls the tools of the server.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx2

from codemode import Engine
from codemode.executor import ApprovalRequest

# null is no boolean: a model that is told so leaves the parameter out
CUSTOM_HEADERS = """
    for (const call of calls) {
        const given = Object.entries(call.arguments).filter(([, value]) => value !== null);
        const name = call.name.endsWith("_null") ? "testCustomHeadersNull" : "testCustomHeaders";
        await MCP.test[name](Object.fromEntries(given));
    }
"""
PROGRAMS = {
    "tools_call": "return await MCP.test.addNumbers({ a: 5, b: 3 });",
    "elicitation-sep1034-client-defaults": "return await MCP.test.testClientElicitationDefaults({});",
    "sse-retry": "return await MCP.test.testReconnection({});",
    "sep-2322-client-request-state": """
        await MCP.test.testMrtrEchoState({});
        await MCP.test.testMrtrNoState({});
        await Promise.all([MCP.test.testMrtrEchoState({}), MCP.test.testMrtrUnrelated({})]);
        return await MCP.test.testMrtrNoResultType({});
    """,
    "http-standard-headers": """
        await MCP.test.testHeaders({});
        const { resources } = await MCP.test.resources.list();
        await MCP.test.resources.read({ uri: resources[0].uri });
        const { prompts } = await MCP.test.prompts.list();
        await MCP.test.prompts.get({ name: prompts[0].name });
    """,
    "http-invalid-tool-headers": "return await MCP.test.validTool({ region: 'eu' });",
    "json-schema-2020-12-preservation": """
        const { schemas } = await MCP.test.$api("json_schema_2020_12_tool", { schema: true });
        return await MCP.test.jsonSchemaEcho({ schema: Object.values(schemas)[0].input });
    """,
}
CLIENT_METADATA = "https://conformance-test.local/client-metadata.json"
CALL_ANY = """
    const names = Object.keys(MCP.test).filter((n) => !["$api", "resources", "prompts"].includes(n));
    for (const name of names) await MCP.test[name]({});
    return names;
"""
LIST = "return Object.keys(MCP.test);"


async def log_in(_server: str, url: str) -> str:
    """What a person and their browser do: the suite's login page says yes at once."""
    async with httpx2.AsyncClient(follow_redirects=False) as browser:
        return (await browser.get(url)).headers["location"]


def yes(_request: ApprovalRequest) -> bool:
    return True


async def main(url: str) -> int:
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    given: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    server: dict[str, Any] = {"url": url}
    program = PROGRAMS.get(scenario, CALL_ANY if scenario.startswith("auth/") else LIST)
    if "client_id" in given:
        secret = given.get("client_secret", "")
        server["oauth"] = {"clientId": given["client_id"], "clientSecret": secret}
    elif scenario == "auth/basic-cimd":
        server["oauth"] = {"clientMetadataUrl": CLIENT_METADATA}
    if scenario == "http-custom-headers":
        program = f"const calls = {json.dumps(given['toolCalls'])};{CUSTOM_HEADERS}"
    with tempfile.TemporaryDirectory() as folder:
        tokens = Path(folder) / "logins.json"
        options: dict[str, Any] = {"mcp_login": log_in, "mcp_tokens": tokens, "approve": yes}
        async with Engine(mcp={"mcpServers": {"test": server}}, **options) as engine:
            result = await engine.run(program)
    print(json.dumps(result.to_dict())[:2000], file=sys.stderr)
    return 0 if result.status == "completed" else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))
