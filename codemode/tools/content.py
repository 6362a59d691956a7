"""Content: images, audio and files as tools return and take them. It crosses to programs as small handles.

A tool returns an `Image` or a `File`, alone or anywhere in its result; a tool whose parameter has such a type
gets the content of the handle that the program passed. The bytes stay with the host, by the run's own ids.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self, cast

ContentType = Literal["image", "audio", "file"]

_PREFIX = "cnt_"
_MAX_MIME = 127
_MAX_NAME = 255
_BINARY = "application/octet-stream"


class Content:
    """Bytes with a MIME type and, maybe, a name. Frozen by convention; `Image` and `File` make them."""

    __slots__ = ("_digest", "data", "mime_type", "name", "type")

    type: ContentType
    data: bytes
    mime_type: str
    name: str | None

    def __init__(self, data: bytes, mime_type: str, name: str | None = None) -> None:
        """Raises TypeError for data that is not bytes, ValueError for text that is not a MIME type."""
        if not isinstance(data, bytes | bytearray | memoryview):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise TypeError(f"content is bytes, not {type(data).__name__}")
        self._digest: bytes | None = None
        self.data = bytes(data)
        self.mime_type = _mime(mime_type)
        self.name = None if name is None else str(name)[:_MAX_NAME]
        kind = self.mime_type.partition("/")[0]
        self.type = kind if kind in ("image", "audio") else "file"

    @classmethod
    def from_path(cls, path: str | Path) -> Self:
        """Reads a file; its type is guessed from its name."""
        import mimetypes  # a table that only files need

        found = Path(path)
        return cls(found.read_bytes(), mimetypes.guess_type(found.name)[0] or _BINARY, found.name)

    @classmethod
    def from_base64(cls, data: str, mime_type: str, name: str | None = None) -> Self:
        """Raises ValueError for text that is not base64."""
        try:
            decoded = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError) as problem:
            raise ValueError(f"the data is not base64: {problem}") from None
        return cls(decoded, mime_type, name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.mime_type} {len(self.data)} bytes>"

    @property
    def digest(self) -> bytes:
        """Equal for equal bytes of one MIME type and name."""
        if self._digest is None:
            found = hashlib.sha256(f"{self.mime_type}\0{self.name or ''}\0".encode())
            found.update(self.data)
            self._digest = found.digest()
        return self._digest

    def handle(self, name: str) -> dict[str, Any]:
        """What a program gets in its place."""
        shown: dict[str, Any] = {"type": self.type, "mimeType": self.mime_type, "bytes": len(self.data)}
        return shown | ({"name": self.name} if self.name else {}) | {"id": name}


class Image(Content):
    __slots__ = ()

    def __init__(self, data: bytes, mime_type: str = "image/png", name: str | None = None) -> None:
        """Raises ValueError for a MIME type that is not of an image."""
        super().__init__(data, mime_type, name)
        if self.type != "image":
            raise ValueError(f'an Image has a MIME type such as "image/png", not "{self.mime_type}"')


class File(Content):
    """Anything: audio, documents, images too."""

    __slots__ = ()

    def __init__(self, data: bytes, mime_type: str = _BINARY, name: str | None = None) -> None:
        super().__init__(data, mime_type, name)


HANDLE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "A handle of content, as a tool's result holds it.",
    "properties": {
        "type": {"type": "string"},
        "mimeType": {"type": "string"},
        "bytes": {"type": "integer"},
        "id": {"type": "string"},
    },
    "required": ["id"],
}


class Collected:
    """Puts handles in the place of content while a result is written. The ids cannot be guessed, and each
    counts only in the run that the result is for."""

    def __init__(self) -> None:
        self.found: dict[str, Content] = {}
        self._names: dict[int, str] = {}

    def handle_of(self, content: Content) -> dict[str, Any]:
        """One object that a result holds twice is one content."""
        name = self._names.get(id(content))
        if name is None:
            name = self._names[id(content)] = _PREFIX + secrets.token_hex(16)
            self.found[name] = content
        return content.handle(name)


def from_data_url(url: str, name: str | None = None) -> Content | None:
    """None for a URL of another kind; the content stays where it is."""
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None
    try:
        return Content.from_base64(data, head.removeprefix("data:").removesuffix(";base64"), name)
    except ValueError:
        return None


def content_of(value: object, known: Mapping[str, Content]) -> Content | None:
    """The content of a handle that a program passed on; None if it is no handle of this run."""
    name = cast("Mapping[str, Any]", value).get("id") if isinstance(value, Mapping) else None
    return known.get(name) if isinstance(name, str) else None


def _mime(given: object) -> str:
    found = given.strip().lower() if isinstance(given, str) else ""
    kind, slash, sort = found.partition(";")[0].partition("/")
    words = (kind.strip(), sort.strip())
    is_right = slash and found.isascii() and found.isprintable() and len(found) <= _MAX_MIME
    if not is_right or not all(word and " " not in word for word in words):
        raise ValueError(f"{str(given)[:80]!r} is not a MIME type such as image/png")
    return found
