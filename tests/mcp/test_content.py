"""Images, audio and files of MCP servers: handles for programs, blocks for clients of our own server."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import types

from codemode.contract.results import FileOutput, ImageOutput
from tests.e2e.serve.mcp_clients import connected
from tests.harness.engine import engine, value_of
from tests.harness.mcp_servers import servers
from tests.mcp.picture_server import PNG

pytestmark = pytest.mark.usefixtures("leaves_nothing")

PICTURES = {"command": sys.executable, "args": [str(Path(__file__).parent / "picture_server.py")]}
SHOW = "const { content } = await MCP.pictures.show(); image(content[1]); file(content[2]); file(content[3]);"


async def test_blocks_of_a_server_reach_the_program_as_handles_and_its_output_as_they_were() -> None:
    code = f"{SHOW} return content.map(({{ id, ...rest }}) => [rest, typeof id])"
    async with engine((), mcp=servers(pictures=PICTURES)) as host:
        result = await host.exec(code)
    assert value_of(result) == [
        [{"type": "text", "text": "there"}, "undefined"],
        [{"type": "image", "mimeType": "image/png", "bytes": len(PNG)}, "string"],
        [{"type": "audio", "mimeType": "audio/wav", "bytes": 4}, "string"],
        [{"type": "file", "mimeType": "application/pdf", "bytes": 4, "name": "memo://report"}, "string"],
    ]
    assert result.output == (
        ImageOutput("image/png", len(PNG), data=PNG),
        FileOutput("audio/wav", 4, data=b"RIFF"),
        FileOutput("application/pdf", 4, "memo://report", b"%PDF"),
    )


async def test_a_resource_of_bytes_is_a_handle_and_what_is_no_base64_fails_its_call_in_words() -> None:
    code = """
    const { contents: [one] } = await MCP.pictures.resources.read({ uri: 'memo://bytes' });
    image(one);
    return [one.bytes, await MCP.pictures.lie().catch((error) => error.message)]"""
    async with engine((), mcp=servers(pictures=PICTURES)) as host:
        result = await host.exec(code)
    size, problem = value_of(result)
    assert (size, result.output) == (
        len(PNG),
        (ImageOutput("image/png", len(PNG), "memo://bytes", PNG),),
    )
    assert problem.startswith("lie has run, but its content cannot be read: the data is not base64")


async def test_a_client_of_our_server_gets_mcps_own_blocks_behind_the_text(tmp_path: Path) -> None:
    config = tmp_path / "servers.json"
    config.write_text(json.dumps(servers(pictures=PICTURES)))
    async with connected("stdio", "since 2026", "--servers", config) as client:
        result: Any = await client.call_tool("exec", {"code": SHOW})
    text, image, sound, report = result.content
    assert isinstance(text, types.TextContent)
    told = json.loads(text.text)
    assert told == result.structured_content
    assert [item["ref"] for item in told["output"]] == ["content-1", "content-2", "content-3"]
    assert isinstance(image, types.ImageContent)
    assert (image.mime_type, base64.b64decode(image.data)) == ("image/png", PNG)
    assert isinstance(sound, types.AudioContent)
    assert sound.mime_type == "audio/wav"
    assert isinstance(report, types.EmbeddedResource)
    assert isinstance(report.resource, types.BlobResourceContents)
    assert (str(report.resource.uri), report.resource.mime_type) == (
        "codemode://content/content-3",
        "application/pdf",
    )
    assert base64.b64decode(report.resource.blob) == b"%PDF"
