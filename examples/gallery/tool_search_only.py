"""Tool Search without code mode: a model gets three small tools instead of a thousand schemas.

For models that do better with plain tool calls. The catalog, the policy and the hooks are the engine's own.
"""

from __future__ import annotations

import asyncio

from codemode import Engine, Tool


def made(number: int) -> Tool:
    async def run(given: dict[str, str], _: object) -> str:
        return f"report {number} for {given['month']}"

    parameters = {"type": "object", "properties": {"month": {"type": "string"}}, "required": ["month"]}
    return Tool(f"report_{number}", f"The monthly report of department {number}.", parameters, run)


async def main() -> None:
    async with Engine([made(number) for number in range(1_000)], False) as engine:
        search = engine.tool_search({"mode": "tools"})
        prepared = await search.prepare(session="s1")
        print("the model sees:", [one.name for one in prepared.visible])
        found = await prepared.call("tool_search", {"query": "monthly report department 7", "limit": 1})
        print("it finds:", found.value[0]["id"])
        answer = await prepared.call("tool_call", {"id": found.value[0]["id"], "args": {"month": "May"}})
        print("it gets:", answer.value)


if __name__ == "__main__":
    asyncio.run(main())
