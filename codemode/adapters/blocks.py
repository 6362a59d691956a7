"""Images and files of a result as the blocks that each provider takes. Pure.

The JSON of the result names each of them by its `ref`; what a provider has no block for is named there only.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from codemode.contract.for_model import content_of
from codemode.tools.content import Content

Block = dict[str, Any]

_ANTHROPIC_IMAGES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
_OPENAI_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


class ShownContent(Struct, frozen=True):
    """One item for a model. `data` is base64; `type` is "image", "audio" or "file"."""

    ref: str
    type: str
    mime_type: str
    bytes: int
    data: str
    name: str | None = None

    @property
    def decoded(self) -> bytes:
        return base64.b64decode(self.data)

    @property
    def url(self) -> str:
        return f"data:{self.mime_type};base64,{self.data}"

    @property
    def file_name(self) -> str:
        return self.name or self.ref


def shown_of_output(output: Iterable[Mapping[str, Any]]) -> tuple[ShownContent, ...]:
    """Of the output of a result, as plain data."""
    found: list[ShownContent] = []
    for item in content_of(output):
        mime = item["mimeType"]
        found.append(
            ShownContent(item["ref"], _kind(mime), mime, item["bytes"], item["data"], item.get("name"))
        )
    return tuple(found)


def shown_of_contents(contents: Mapping[str, Content]) -> tuple[ShownContent, ...]:
    """Of a tool that is shown as it is: its result has the handles."""
    return tuple(
        ShownContent(
            name, one.type, one.mime_type, len(one.data), base64.b64encode(one.data).decode(), one.name
        )
        for name, one in contents.items()
    )


def anthropic_blocks(items: Iterable[ShownContent]) -> list[Block]:
    """Images, PDF documents and plain text."""
    found: list[Block] = []
    for item in items:
        source = {"type": "base64", "media_type": item.mime_type, "data": item.data}
        if item.mime_type in _ANTHROPIC_IMAGES:
            found.append({"type": "image", "source": source})
        elif item.mime_type == "application/pdf":
            found.append({"type": "document", "source": source, "title": item.file_name})
        elif item.mime_type == "text/plain":
            text = {"type": "text", "media_type": "text/plain", "data": item.decoded.decode(errors="replace")}
            found.append({"type": "document", "source": text, "title": item.file_name})
    return found


def openai_chat_parts(items: Iterable[ShownContent]) -> list[Block]:
    """Parts of a user message: a tool message takes text only."""
    return [_chat_part(item) for item in items]


def _chat_part(item: ShownContent) -> Block:
    if item.type == "image":
        return {"type": "image_url", "image_url": {"url": item.url}}
    if item.mime_type in _OPENAI_AUDIO:
        sound = {"data": item.data, "format": _OPENAI_AUDIO[item.mime_type]}
        return {"type": "input_audio", "input_audio": sound}
    return {"type": "file", "file": {"filename": item.file_name, "file_data": item.url}}


def openai_responses_parts(items: Iterable[ShownContent]) -> list[Block]:
    return [
        {"type": "input_image", "image_url": item.url, "detail": "auto"}
        if item.type == "image"
        else {"type": "input_file", "filename": item.file_name, "file_data": item.url}
        for item in items
    ]


def langchain_blocks(items: Iterable[ShownContent]) -> list[Block]:
    """LangChain's own, which it turns into those of each provider."""
    return [
        {"type": item.type, "base64": item.data, "mime_type": item.mime_type}
        | ({"extras": {"filename": item.file_name}} if item.type == "file" else {})
        for item in items
    ]


def _kind(mime_type: str) -> str:
    kind = mime_type.partition("/")[0]
    return kind if kind in ("image", "audio") else "file"
