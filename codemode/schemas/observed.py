"""The shape of results, learned from samples: names of fields and broad types, never a value. Pure, bounded.

Keys can be data too: `{"ada@example.org": 3}`. An object whose keys look like data, are many, or differ from
sample to sample is a map, and nothing of its keys is kept. Objects whose members are all of one kind may be
maps as well, so their keys are told only after a second sample had the same, or where the tool's own texts
have them: `{"customer": {...}}` of `get_customer`.
"""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec
from msgspec import Struct, field

_MAX_DEPTH = 6
_MAX_NODES = 300  # of one shape
_MAX_VISITS = 1_500  # values of one sample that are looked at
_MAX_ITEMS = 25  # of a list
_MAX_KEYS = 60  # an object with more is a map
_MAX_MEMBERS = 20  # of a map
_MAX_BYTES = 4_096  # of the schema
_MANY = 8  # so many keys of which hardly one is always there
_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,31}")
_DIGITS = re.compile(r"\d+")
_USUAL = frozenset(
    (
        *(
            "id",
            "name",
            "title",
            "type",
            "kind",
            "status",
            "state",
            "url",
            "email",
            "key",
            "value",
            "message",
        ),
        *("error", "text", "content", "created_at", "createdAt", "updated_at", "updatedAt", "count", "total"),
    )
)
_KINDS: dict[type, str] = {str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}


Words = frozenset[str]


class ObservedShape(Struct):
    """What was seen in one place. `fields` are those of an object that is no map, with how often each was
    there in `seen` objects; `members` is the shape of all members of a map."""

    kinds: list[str] = field(default_factory=list[str])  # in the order in which they were seen
    seen: int = 0
    fields: dict[str, tuple[int, ObservedShape]] = field(
        default_factory=dict[str, "tuple[int, ObservedShape]"]
    )
    members: ObservedShape | None = None
    items: ObservedShape | None = None

    def schema(self, words: Words = frozenset()) -> dict[str, Any]:
        """The shape as a JSON schema, of at most 4 KiB: less deep where it would be more. `words` are keys
        that are no data, because everybody can read them elsewhere (`words_of`)."""
        for depth in range(_MAX_DEPTH, 0, -1):
            found = _schema(self, depth, words)
            if len(msgspec.json.encode(found)) <= _MAX_BYTES:
                return found
        return {}


def words_of(*texts: str) -> Words:
    """Words of texts in lower case: whole, the parts of `snake_case`, and each with and without an s."""
    whole = {word.lower() for text in texts for word in _WORD.findall(text)}
    parts = whole | {part for word in whole for part in word.split("_") if len(part) > 2}
    return frozenset(parts | {f"{word}s" for word in parts} | {word.removesuffix("s") for word in parts})


def names_in(shape: ObservedShape | None) -> Words:
    """The names of all fields, in lower case."""
    if shape is None:
        return frozenset()
    inner = [names_in(known) for _, known in shape.fields.values()]
    own = frozenset(name.lower() for name in shape.fields)
    return own.union(*inner, names_in(shape.members), names_in(shape.items))


def tellable(shape: ObservedShape, words: Words = frozenset()) -> ObservedShape:
    """A copy without the keys that may turn out to be data: what may leave the memory of an engine."""
    copied = ObservedShape(list(shape.kinds), shape.seen)
    copied.members = None if shape.members is None else tellable(shape.members, words)
    copied.items = None if shape.items is None else tellable(shape.items, words)
    if shape.fields and not _may_tell(shape, words):
        copied.seen = 0  # the next sample is the first one again
        return copied
    copied.fields = {name: (count, tellable(known, words)) for name, (count, known) in shape.fields.items()}
    return copied


def observe(shape: ObservedShape, value: object) -> bool:
    """Adds a decoded JSON value to what is known; whether that is more than before."""
    walk = _ShapeWalk(_count(shape))
    walk.add(shape, value, 0)
    return walk.is_news


class _ShapeWalk:
    def __init__(self, nodes: int) -> None:
        self.is_news = False
        self._nodes = nodes
        self._visits = 0

    def add(self, shape: ObservedShape, value: object, depth: int) -> None:
        self._visits += 1
        if self._visits > _MAX_VISITS:
            return
        kind = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else _kind(value)
        if kind not in shape.kinds:
            shape.kinds.append(kind)
            self.is_news = True
        if depth >= _MAX_DEPTH:
            return
        if isinstance(value, dict):
            self._add_object(shape, cast("dict[str, Any]", value), depth)
        elif isinstance(value, list):
            for item in cast("list[Any]", value)[:_MAX_ITEMS]:
                shape.items = self._into(shape.items, item, depth)

    def _add_object(self, shape: ObservedShape, value: dict[str, Any], depth: int) -> None:
        shape.seen += 1
        if shape.members is None and (len(value) > _MAX_KEYS or not all(map(_is_word, value))):
            self._make_map(shape)
        if shape.members is not None:
            for member in list(value.values())[:_MAX_MEMBERS]:
                self._into(shape.members, member, depth)
            return
        for name, member in value.items():
            count, known = shape.fields.get(name, (0, None))
            if known is None and shape.seen > 1:
                self.is_news = True
            found = self._into(known, member, depth)
            if found is not None:
                shape.fields[name] = (count + 1, found)
        if any(count == shape.seen - 1 for count, _ in shape.fields.values()):
            self.is_news = True  # it is optional, as it turns out
        if shape.seen == 2 and _is_alike(shape):
            self.is_news = True  # its keys may be told now
        if _varies(shape):
            self._make_map(shape)

    def _make_map(self, shape: ObservedShape) -> None:
        """Forgets the keys and keeps what their values were."""
        self.is_news = True
        shape.members = ObservedShape()
        for _, known in shape.fields.values():
            _merge(shape.members, known)
        shape.fields = {}

    def _into(self, shape: ObservedShape | None, value: object, depth: int) -> ObservedShape | None:
        if shape is None:
            if self._nodes >= _MAX_NODES:
                return None
            self._nodes += 1
            self.is_news = True
            shape = ObservedShape()
        self.add(shape, value, depth + 1)
        return shape


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "null")


def _is_word(key: str) -> bool:
    """Whether a key can be the name of a field. Numbers, addresses, tokens and sentences are data."""
    if not _WORD.fullmatch(key):
        return False
    numbers = _DIGITS.findall(key)
    if len(numbers) > 1 or any(len(number) > 3 for number in numbers):
        return False
    return not numbers or all(len(part) < 12 for part in key.split("_"))


def _varies(shape: ObservedShape) -> bool:
    """Whether objects that were seen in one place have too little in common for a list of fields."""
    if shape.seen < 2 or len(shape.fields) < 2:
        return False
    always = sum(count == shape.seen for count, _ in shape.fields.values())
    if len(shape.fields) > _MAX_KEYS or (len(shape.fields) >= 3 * _MANY and always * 4 < len(shape.fields)):
        return True
    few = always == 0 or (len(shape.fields) >= _MANY and always * 4 < len(shape.fields))
    return few and _is_alike(shape)


def _may_tell(shape: ObservedShape, words: Words) -> bool:
    """Whether the keys of an object that is no map are surely names of fields."""
    return shape.seen > 1 or not _is_alike(shape) or all(name.lower() in words for name in shape.fields)


def _is_alike(shape: ObservedShape) -> bool:
    """Whether all fields are of one kind, as the members of a map are, and none has a name that objects have.
    A single list is what an object was put around."""
    kinds = [[kind for kind in known.kinds if kind != "null"] for _, known in shape.fields.values()]
    if kinds == [["array"]] or not _USUAL.isdisjoint(shape.fields):
        return False
    return len({tuple(sorted(one)) for one in kinds}) < 2


def _merge(into: ObservedShape, other: ObservedShape) -> None:
    into.kinds += [kind for kind in other.kinds if kind not in into.kinds]
    into.seen += other.seen
    for name, (count, known) in other.fields.items():
        before, mine = into.fields.get(name, (0, ObservedShape()))
        _merge(mine, known)
        into.fields[name] = (before + count, mine)
    for part in ("members", "items"):
        theirs: ObservedShape | None = getattr(other, part)
        if theirs is not None:
            mine = getattr(into, part) or ObservedShape()
            _merge(mine, theirs)
            setattr(into, part, mine)
    if into.members is not None and into.fields:
        for _, known in into.fields.values():
            _merge(into.members, known)
        into.fields = {}


def _count(shape: ObservedShape | None) -> int:
    if shape is None:
        return 0
    inner = (known for _, known in shape.fields.values())
    return 1 + sum(map(_count, (*inner, shape.members, shape.items)))


def _schema(shape: ObservedShape | None, depth: int, words: Words) -> dict[str, Any]:
    if shape is None or depth == 0:
        return {}
    plain = [kind for kind in shape.kinds if kind not in ("object", "array")]
    found: list[dict[str, Any]] = []
    if "object" in shape.kinds:
        found.append(_object(shape, depth, words))
    if "array" in shape.kinds:
        items = _schema(shape.items, depth - 1, words)
        found.append({"type": "array", **({"items": items} if items else {})})
    if plain and len(found) == 0:
        return {"type": plain[0] if len(plain) == 1 else plain}
    found += [{"type": kind} for kind in plain]
    return found[0] if len(found) == 1 else {"anyOf": found} if found else {}


def _object(shape: ObservedShape, depth: int, words: Words) -> dict[str, Any]:
    if shape.members is None and shape.fields and _may_tell(shape, words):
        properties = {name: _schema(known, depth - 1, words) for name, (_, known) in shape.fields.items()}
        required = [name for name, (count, _) in shape.fields.items() if count == shape.seen]
        return {"type": "object", "properties": properties, "required": required}
    members = shape.members
    if members is None and shape.fields:
        members = ObservedShape()
        for _, known in shape.fields.values():
            _merge(members, known)
    inner = _schema(members, depth - 1, words)
    return {"type": "object", **({"additionalProperties": inner} if inner else {})}
