"""Images and files of a program in the blocks of each framework, and of their tools in programs."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from agents import (
    Agent,
    RunConfig,
    Runner,
    ToolOutputFileContent,
    ToolOutputImage,
    ToolOutputText,
    function_tool,
)
from agents.testing import ScriptedModel, assistant_message, function_call
from langchain_core.tools import tool as langchain_tool
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import Tool as PydanticTool
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from codemode import File, Image, tool
from codemode.adapters import prepare_tools
from codemode.adapters.langchain import as_langchain
from codemode.adapters.openai_agents import as_openai_agents
from codemode.adapters.pydantic_ai import CodeModeToolset
from codemode.adapters.raw import answer_calls
from codemode.adapters.raw_shapes import RawProvider
from codemode.contract.results import ImageOutput
from tests.harness.engine import engine, value_of

PNG, PDF = b"\x89PNG", b"%PDF"
DATA, PDF_DATA = (base64.b64encode(data).decode() for data in (PNG, PDF))
URL, PDF_URL = f"data:image/png;base64,{DATA}", f"data:application/pdf;base64,{PDF_DATA}"
CODE = "const [one, two, three] = await tools.shot({}); image(one); file(two); file(three); return 1"


@tool
async def shot() -> list[Any]:
    """A picture, a document, an archive."""
    return [Image(PNG), File(PDF, "application/pdf", "a.pdf"), File(b"PK", "application/zip")]


TOLD = {
    "status": "completed",
    "value": 1,
    "output": [
        {"type": "image", "mimeType": "image/png", "bytes": 4, "ref": "content-1"},
        {"type": "file", "mimeType": "application/pdf", "bytes": 4, "name": "a.pdf", "ref": "content-2"},
        {"type": "file", "mimeType": "application/zip", "bytes": 2, "ref": "content-3"},
    ],
}
ARCHIVE = base64.b64encode(b"PK").decode()
ARCHIVE_URL = f"data:application/zip;base64,{ARCHIVE}"


def response(provider: RawProvider) -> dict[str, Any]:
    arguments = {"code": CODE}
    match provider:
        case "anthropic":
            return {"content": [{"type": "tool_use", "id": "c", "name": "exec", "input": arguments}]}
        case "openai":
            called = {"id": "c", "function": {"name": "exec", "arguments": json.dumps(arguments)}}
            return {"choices": [{"message": {"role": "assistant", "tool_calls": [called]}}]}
        case _:
            called = {
                "type": "function_call",
                "call_id": "c",
                "name": "exec",
                "arguments": json.dumps(arguments),
            }
            return {"output": [called]}


async def raw(provider: RawProvider) -> list[Any]:
    async with engine([shot]) as host:
        return await answer_calls(await prepare_tools(host), response(provider), provider)


async def test_anthropic_gets_images_and_documents_in_the_tool_result_and_the_rest_by_name() -> None:
    ((result,),) = [message["content"] for message in await raw("anthropic")]
    text, image, document = result["content"]
    assert json.loads(text["text"]) == TOLD
    source = {"type": "base64", "media_type": "image/png", "data": DATA}
    assert image == {"type": "image", "source": source}
    source = {"type": "base64", "media_type": "application/pdf", "data": PDF_DATA}
    assert document == {"type": "document", "source": source, "title": "a.pdf"}


async def test_openai_chat_gets_them_in_a_user_message_behind_the_tool_message() -> None:
    answer, shown = await raw("openai")
    assert (answer["role"], answer["tool_call_id"], json.loads(answer["content"])) == ("tool", "c", TOLD)
    assert shown == {
        "role": "user",
        "content": [
            {"type": "text", "text": "Output of the call c: content-1, content-2, content-3."},
            {"type": "image_url", "image_url": {"url": URL}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF_URL}},
            {"type": "file", "file": {"filename": "content-3", "file_data": ARCHIVE_URL}},
        ],
    }


async def test_openai_responses_get_them_in_the_output_of_the_call() -> None:
    (answer,) = await raw("openai-responses")
    text, *shown = answer["output"]
    assert (text["type"], json.loads(text["text"])) == ("input_text", TOLD)
    assert shown == [
        {"type": "input_image", "image_url": URL, "detail": "auto"},
        {"type": "input_file", "filename": "a.pdf", "file_data": PDF_URL},
        {"type": "input_file", "filename": "content-3", "file_data": ARCHIVE_URL},
    ]


async def test_langchain_gets_its_own_blocks_in_the_tool_message() -> None:
    async with engine([shot]) as host:
        execute, _ = as_langchain(await prepare_tools(host))
        call = {"name": "exec", "args": {"code": CODE}, "id": "c", "type": "tool_call"}
        message = await execute.ainvoke(call)
    text, *shown = message.content
    assert json.loads(text["text"]) == TOLD
    assert [(block["type"], block["mime_type"], block["base64"]) for block in shown] == [
        ("image", "image/png", DATA),
        ("file", "application/pdf", PDF_DATA),
        ("file", "application/zip", ARCHIVE),
    ]
    assert [block["type"] for block in message.content_blocks] == ["text", "image", "file", "file"]


async def test_pydantic_ai_gets_binary_content_in_the_tool_return() -> None:
    def speak(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        part = messages[-1].parts[-1]
        is_over = isinstance(part, ToolReturnPart)
        return ModelResponse([TextPart("ok") if is_over else ToolCallPart("exec", {"code": CODE}, "c")])

    async with engine([shot]) as host:
        toolset = CodeModeToolset(await prepare_tools(host))
        ended = await PydanticAgent(FunctionModel(speak)).run("go", toolsets=[toolset])
    parts = [part for message in ended.all_messages() for part in message.parts]
    (found,) = [part for part in parts if isinstance(part, ToolReturnPart)]
    content: Any = found.content
    told, *shown = content
    assert told == TOLD
    assert [(one.data, one.media_type) for one in shown if isinstance(one, BinaryContent)] == [
        (PNG, "image/png"),
        (PDF, "application/pdf"),
        (b"PK", "application/zip"),
    ]
    assert len(found.files) == 3


async def test_the_agents_sdk_gets_its_own_outputs() -> None:
    steps: Any = [[function_call("exec", {"code": CODE}, call_id="c")], [assistant_message("done")]]
    async with engine([shot]) as host:
        tools = as_openai_agents(await prepare_tools(host))
        agent = Agent[Any](name="a", model=ScriptedModel(steps), tools=tools)
        ended = await Runner.run(agent, "go", run_config=RunConfig(tracing_disabled=True))
    items: list[Any] = [item.raw_item for item in ended.new_items if item.type == "tool_call_output_item"]
    (output,) = [item["output"] for item in items]
    text, image, document, _ = output
    assert json.loads(text["text"]) == TOLD
    assert (image["type"], image["image_url"]) == ("input_image", URL)
    assert (document["type"], document["filename"], document["file_data"]) == ("input_file", "a.pdf", PDF_URL)


async def test_with_code_mode_off_a_tools_content_is_shown_beside_its_result() -> None:
    @tool
    async def picture() -> dict[str, Any]:
        return {"of": "Ada", "picture": Image(PNG)}

    async with engine([picture], {"enabled": False}) as host:
        answer = await (await prepare_tools(host)).call("picture", {})
    (item,) = answer.content
    assert answer.value["picture"] == {"type": "image", "mimeType": "image/png", "bytes": 4, "id": item.ref}
    assert (item.type, item.decoded) == ("image", PNG)


def from_pydantic() -> list[Any]:
    """A picture."""
    return ["a", BinaryContent(PNG, media_type="image/png")]


@langchain_tool
def from_langchain() -> list[Any]:
    """A picture."""
    return ["a", {"type": "image", "base64": DATA, "mime_type": "image/png"}]


@function_tool
def from_agents() -> list[Any]:
    """A picture."""
    return [ToolOutputText(text="a"), ToolOutputImage(image_url=URL)]


@pytest.mark.parametrize("given", [PydanticTool(from_pydantic), from_langchain, from_agents])
async def test_content_of_a_frameworks_tool_is_a_handle_in_programs(given: Any) -> None:
    code = f"const [text, one] = await tools.{given.name}({{}}); image(one); return [text, one.bytes]"
    async with engine([given]) as host:
        result = await host.exec(code)
    assert (value_of(result), result.output) == (["a", 4], (ImageOutput("image/png", 4, data=PNG),))


async def test_a_file_of_the_agents_sdk_keeps_its_name_and_an_address_stays_an_address() -> None:
    @function_tool
    def mixed() -> list[Any]:
        """Both."""
        return [
            ToolOutputFileContent(file_data=PDF_URL, filename="a.pdf"),
            ToolOutputImage(image_url="https://example.com/a.png"),
        ]

    async with engine([mixed]) as host:
        one, two = value_of(await host.exec("return await tools.mixed({})"))
    assert (one["type"], one["name"], one["bytes"]) == ("file", "a.pdf", 4)
    assert two["image_url"] == "https://example.com/a.png"
