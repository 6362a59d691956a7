"""The content of one run: bytes that tools returned and its program shows or passes on, by unguessable ids.

Bounded by `maxContentBytes` and by their number. They are in memory while the run is known here, and in its
snapshot while it is suspended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Literal

from msgspec.structs import replace

from codemode.contract.results import FileOutput, ImageOutput, Output, TextOutput
from codemode.gate.pending import PendingBytes
from codemode.runs.in_flight import InFlight
from codemode.tools.content import Content
from codemode.tools.threads import call_in_thread

MAX_CONTENTS = 1_000
LARGE_BYTES = 1 << 20  # some two milliseconds to hash

Frozen = tuple[tuple[str, ...], str, str | None, bytes]  # ids, MIME type, name, data


class Contents(Mapping[str, Content]):
    """All content of a run, by id. `shown` are the bytes that its output has brought so far."""

    __slots__ = ("_by_id", "_same", "_unstored", "bytes", "shown")

    def __init__(self) -> None:
        self._by_id: dict[str, Content] = {}
        self._same: dict[bytes, Content] = {}  # by digest: equal content is kept, and counts, once
        self._unstored: dict[int, tuple[str, ...]] = {}  # by call: ids that the snapshot does not have
        self.bytes = 0
        self.shown = 0

    def __getitem__(self, name: str) -> Content:
        return self._by_id[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)

    def keep(
        self,
        found: Mapping[str, Content],
        limit: int,
        flight: InFlight,
        everybody: PendingBytes,
        session: str,
    ) -> str | None:
        """Keeps all of it, or none and says why."""
        refusal = self._refusal(found, limit)
        if refusal is None:
            refusal = flight.keep_content(self._bytes_with(found), everybody, session)
        if refusal is None:
            self.add(found)
        return refusal

    def _refusal(self, found: Mapping[str, Content], limit: int) -> str | None:
        if len(self) + len(found) > MAX_CONTENTS:
            return f"a run may hold {MAX_CONTENTS:,} images and files"
        largest = max((len(one.data) for one in found.values()), default=0)
        # what is too large by itself is not hashed to find its equals
        size = self._bytes_with(found) if largest <= limit else self.bytes + largest
        if size <= limit:
            return None
        return f"the run would hold {size:,} bytes of content, and may hold {limit:,}"

    def _bytes_with(self, found: Mapping[str, Content]) -> int:
        new = {one.digest: len(one.data) for one in found.values()}
        return self.bytes + sum(size for digest, size in new.items() if digest not in self._same)

    def add(self, found: Mapping[str, Content]) -> None:
        """Keeps it; equal content is kept once, under each of its ids."""
        for name, one in found.items():
            if one.digest not in self._same:
                self._same[one.digest] = one
                self.bytes += len(one.data)
            self._by_id[name] = self._same[one.digest]

    def show(self, name: str, limit: int) -> Content | None:
        """Takes it for the output; None if that has brought too much already. Raises KeyError."""
        found = self._by_id[name]
        if self.shown + len(found.data) > limit:
            return None
        self.shown += len(found.data)
        return found

    def note_unstored(self, call_id: int, found: Mapping[str, Content]) -> None:
        """The call ended while the run was suspended: its content is stored with its result."""
        self._unstored[call_id] = tuple(found)

    def freeze_unstored(self, call_id: int) -> tuple[Frozen, ...]:
        return self._freeze(self._unstored.pop(call_id, ()))

    def freeze(self) -> tuple[Frozen, ...]:
        return self._freeze(self._by_id)

    def _freeze(self, names_of_it: Iterable[str]) -> tuple[Frozen, ...]:
        """Equal content once, with all its ids: a program may hold a thousand handles of one large image."""
        ids: dict[bytes, list[str]] = {}
        for name in names_of_it:
            ids.setdefault(self._by_id[name].digest, []).append(name)
        return tuple(
            (tuple(names), one.mime_type, one.name, one.data)
            for names, one in ((names, self._same[digest]) for digest, names in ids.items())
        )

    def load(self, frozen: tuple[Frozen, ...], shown: int = 0) -> None:
        """Takes in what the store held."""
        self.shown = max(self.shown, shown)
        for names, mime, called, data in frozen:
            self.add(dict.fromkeys(names, Content(data, mime, called)))


def is_large_content(found: Mapping[str, Content] | None) -> bool:
    return found is not None and any(len(one.data) > LARGE_BYTES for one in found.values())


async def hash_large(found: Mapping[str, Content] | None, limit: int) -> None:
    """Call before `keep`: hashes in a thread what would hold up the event loop and may be kept at all."""
    for one in (found or {}).values():
        if LARGE_BYTES < len(one.data) <= limit:
            await call_in_thread("digest", partial(getattr, one, "digest"))


def shown_content(contents: Contents, as_: Literal["image", "file"], name: str, limit: int) -> Output:
    """What the output has for `image(handle)` or `file(handle)`; a warning in words if there is no such
    content, or no room for it."""
    if name not in contents:
        return TextOutput(f"{as_}(): no content of this run has this handle.", "warn")
    found = contents.show(name, limit)
    if found is None:
        told = (
            f"{as_}(): {len(contents[name].data):,} bytes of {contents[name].mime_type} were left out. The "
            f"output of a run may show {limit:,} bytes of content, and has shown {contents.shown:,}."
        )
        return TextOutput(told, "warn")
    kind = ImageOutput if as_ == "image" and found.type == "image" else FileOutput
    return kind(found.mime_type, len(found.data), found.name, found.data)


def without_data(item: Output, name: str) -> Output:
    """The same for those who are told what there is, and not what it is."""
    return replace(item, data=None, ref=name) if isinstance(item, ImageOutput | FileOutput) else item
