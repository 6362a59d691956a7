"""The server that the conformance suite asks: the real one, with the names of tools that its scenarios want.

Each such name stands for a program: `tools/call` of it is `exec` of that program, by the same front, engine
and transport as ever. What a scenario wants that no program can give (a prompt, a resource, sampling) is not
faked here: docs/mcp-conformance.md says so.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import msgspec
from mcp import types
from mcp.server.context import ServerRequestContext

from codemode import File, Image, ToolError, tool
from codemode.serve.lifecycle import open_engine
from codemode.serve.mcp.asking import ApprovalTexts
from codemode.serve.mcp.front import Front
from codemode.serve.mcp.http import open_place, serve_http
from codemode.serve.mcp.server import make_server
from codemode.serve.options import ServeOptions

if TYPE_CHECKING:
    from codemode.engine import Engine

_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
_CONFIRM = "await tools.confirm({ what: 'this' });"
# what a tool of the suite is here; `given` is its argument object
PROGRAMS = {
    "test_simple_text": "text('This is a simple text response for testing.');",
    "test_image_content": "image(await tools.picture());",
    "test_audio_content": "file(await tools.sound());",
    "test_embedded_resource": "file(await tools.note());",
    "test_multiple_content_types": "text('Both:'); image(await tools.picture()); file(await tools.note());",
    "test_error_handling": "throw new Error('This tool intentionally returns an error for testing');",
    "test_tool_with_progress": "await tools.note(); await tools.note(); return 'done';",
    "test_logging_tool": "console.log('one line'); return 'logged';",
    "test_streaming_elicitation": f"await tools.note(); {_CONFIRM} return 'ok';",
    "test_input_required_result_elicitation": f"{_CONFIRM} return 'hello';",
    "test_input_required_result_request_state": f"{_CONFIRM} return 'state-ok';",
    "test_input_required_result_tampered_state": f"{_CONFIRM} return 'ok';",
    "test_input_required_result_multi_round": (
        "await tools.confirm({ what: 'one' }).catch(() => 0);"
        "await tools.confirm({ what: 'two' }).catch(() => 0); return 'both';"
    ),
    "greet": "return `Hello, ${given.name}!`;",
    "slow_compute": "return await tools.slow({ seconds: given.seconds });",
    "failing_job": "await tools.slow({ seconds: 1 }); throw new Error('the job failed');",
    "confirm_delete": f"{_CONFIRM} return 'deleted';",
    "multi_input": (
        "return await Promise.all(['a', 'b'].map((what) => tools.confirm({ what }).catch(() => 'no')));"
    ),
}


@tool
async def picture() -> Image:
    """A red pixel."""
    return Image.from_base64(_PIXEL, "image/png")


@tool
async def sound() -> File:
    """A moment of silence."""
    return File(b"RIFF\x24\0\0\0WAVEfmt ", "audio/wav")


@tool
async def note() -> File:
    """A text."""
    return File(b"This is an embedded resource content.", "text/plain")


@tool
async def slow(seconds: float) -> str:
    """Takes its time."""
    if seconds > 600:
        raise ToolError("too long")
    await asyncio.sleep(seconds)
    return "done"


@tool(requires_approval=True)
async def confirm(what: str) -> str:
    """Needs a person's word."""
    return f"{what} confirmed"


class ScenarioFront(Front):
    async def list_tools(
        self, context: ServerRequestContext[Any, Any], _: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        own = await super().list_tools(context, _)
        schema = {"type": "object"}
        named = [types.Tool(name=name, description=name, input_schema=schema) for name in PROGRAMS]
        return own.model_copy(update={"tools": [*own.tools, *named]})

    async def call_tool(
        self, context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> Any:
        program = PROGRAMS.get(params.name)
        if program is not None:
            given = msgspec.json.encode(params.arguments or {}).decode()
            code = f"const given = {given};\n{program}"
            params = params.model_copy(update={"name": "exec", "arguments": {"code": code}})
        return await super().call_tool(context, params)


async def serve(port: int) -> None:
    options = ServeOptions(http=("127.0.0.1", port))
    place = open_place(options)
    asked = ApprovalTexts(None)
    tools = [picture, sound, note, slow, confirm]
    with place.listener:
        async with open_engine({"tools": tools, "approve": asked.approve}) as engine:
            await serve_http(_server(engine, asked), engine, place, options)


def _server(engine: Engine, asked: ApprovalTexts) -> Any:
    return make_server(ScenarioFront(engine, asked), engine.config.snapshot_ttl_seconds)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
