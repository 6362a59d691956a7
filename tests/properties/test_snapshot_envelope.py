"""Whatever the bytes, an envelope opens to what was sealed for this caller, or raises EnvelopeRefused."""

from codemode_snapshots import EnvelopeRefused, Label, Opened, RunScope, seal, unseal
from hypothesis import assume, given, settings
from hypothesis import strategies as st

NOW = 1_800_000_000_000
MAX_BYTES = 100_000

keys = st.binary(min_size=32, max_size=32)
texts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=60
).filter(lambda text: text.strip() != "")
scopes = st.builds(RunScope, texts, texts, texts, texts)
labels = st.builds(Label, texts, texts, scopes, st.integers(0, 2**63 - 1), st.integers(NOW + 1, 2**63 - 1))
bodies = st.binary(max_size=300)

relaxed = settings(max_examples=200)


def open_for(key: bytes, label: Label, envelope: bytes, now_ms: int = NOW) -> Opened:
    return unseal(
        key,
        envelope,
        build_id=label.build_id,
        run_id=label.run_id,
        scope=label.scope,
        now_ms=now_ms,
        max_bytes=MAX_BYTES,
    )


def reason(key: bytes, label: Label, envelope: bytes, now_ms: int = NOW) -> str | None:
    """None if it opens; anything but EnvelopeRefused fails the test that asks."""
    try:
        open_for(key, label, envelope, now_ms)
    except EnvelopeRefused as refused:
        return refused.reason
    return None


@relaxed
@given(keys, labels, bodies, bodies)
def test_any_parts_come_back_as_they_were_sealed(
    key: bytes, label: Label, state: bytes, delta: bytes
) -> None:
    envelope = seal(key, label, state=state, delta=delta)
    assert open_for(key, label, envelope) == Opened(label.created_at_ms, label.expires_at_ms, state, delta)


@relaxed
@given(keys, labels, st.one_of(st.binary(), st.binary().map(lambda tail: b"CMSN\x01\x00" + tail)))
def test_arbitrary_bytes_are_refused(key: bytes, label: Label, data: bytes) -> None:
    assert reason(key, label, data) in {"damaged", "wrong_version", "wrong_key"}


@relaxed
@given(keys, labels, bodies, st.data())
def test_a_changed_byte_anywhere_is_refused(
    key: bytes, label: Label, delta: bytes, data: st.DataObject
) -> None:
    envelope = bytearray(seal(key, label, state=b"{}", delta=delta))
    place = data.draw(st.integers(0, len(envelope) - 1))
    envelope[place] ^= data.draw(st.integers(1, 255))
    assert reason(key, label, bytes(envelope)) in {"damaged", "wrong_version", "wrong_key", "forged"}


@relaxed
@given(keys, labels, bodies, st.data())
def test_a_cut_or_spliced_envelope_is_refused(
    key: bytes, label: Label, delta: bytes, data: st.DataObject
) -> None:
    envelope = seal(key, label, state=b"{}", delta=delta)
    start = data.draw(st.integers(0, len(envelope)))
    end = data.draw(st.integers(start, len(envelope)))
    insert = data.draw(st.binary(max_size=20))
    spliced = envelope[:start] + insert + envelope[end:]
    assume(spliced != envelope)
    assert reason(key, label, spliced) in {"damaged", "wrong_version", "wrong_key", "forged"}


@relaxed
@given(keys, keys, labels, bodies)
def test_a_foreign_key_is_refused(key: bytes, other: bytes, label: Label, delta: bytes) -> None:
    assume(key != other)
    assert reason(key, label, seal(other, label, state=b"{}", delta=delta)) == "wrong_key"


@relaxed
@given(keys, labels, labels, bodies)
def test_an_envelope_of_another_label_is_refused(
    key: bytes, label: Label, other: Label, delta: bytes
) -> None:
    def bound(one: Label) -> tuple[str, str, RunScope]:
        return one.build_id, one.run_id, one.scope

    assume(bound(label) != bound(other))
    refused = reason(key, label, seal(key, other, state=b"{}", delta=delta))
    assert refused in {"wrong_build", "wrong_run", "wrong_scope"}


@relaxed
@given(keys, labels, bodies, st.integers(0, 3), texts)
def test_swapping_one_scope_field_is_refused(
    key: bytes, label: Label, delta: bytes, place: int, replacement: str
) -> None:
    own = label.scope
    fields = [own.agent, own.session, own.agent_run, own.tool_call]
    assume(fields[place] != replacement)
    fields[place] = replacement
    moved = Label(label.build_id, label.run_id, RunScope(*fields), label.created_at_ms, label.expires_at_ms)
    assert reason(key, moved, seal(key, label, state=b"{}", delta=delta)) == "wrong_scope"


@relaxed
@given(keys, labels, st.integers(NOW + 1, 2**63 - 1))
def test_an_envelope_opens_exactly_until_its_expiry(key: bytes, label: Label, now_ms: int) -> None:
    envelope = seal(key, label, state=b"{}", delta=b"delta")
    expected = "expired" if now_ms >= label.expires_at_ms else None
    assert reason(key, label, envelope, now_ms) == expected


@relaxed
@given(st.lists(st.text(max_size=5), min_size=4, max_size=4))
def test_a_scope_is_complete_or_refused(fields: list[str]) -> None:
    complete = all(field.strip() and field.isascii() for field in fields)
    refusals: list[str] = []
    try:
        RunScope(*fields)
    except EnvelopeRefused as refused:
        refusals.append(refused.reason)
    assert refusals in ([], ["wrong_scope"])
    assert not (complete and refusals)
    assert refusals or all(field.strip() for field in fields)
