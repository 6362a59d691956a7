"""A part kept beside a snapshot is believed, so it has to be exactly the one that was sealed there."""

import pytest
from codemode_snapshots import EnvelopeRefused, seal_part, unseal_part
from codemode_snapshots.seals import Kind

from tests.snapshots.samples import KEY

OTHER_KEY = bytes(32)
NAMES = ("run-1", "call-3")
SEALED = seal_part(KEY, "outcome", NAMES, b"{}", 7)


def refusal(
    sealed: bytes = SEALED,
    *,
    keys: tuple[bytes, ...] = (KEY,),
    kind: Kind = "outcome",
    names: tuple[str, ...] = NAMES,
    take: int = 7,
) -> str:
    with pytest.raises(EnvelopeRefused) as refused:
        unseal_part(keys, kind, names, sealed, take)
    return refused.value.reason


def test_a_sealed_part_opens_as_it_was() -> None:
    assert unseal_part((KEY,), "outcome", NAMES, SEALED, 7) == b"{}"
    assert len(SEALED) == 2 + 40


def test_a_part_moved_to_another_run_call_take_or_kind_is_refused() -> None:
    assert refusal(names=("run-2", "call-3")) == "forged"
    assert refusal(names=("run-1", "call-4")) == "forged"
    assert refusal(names=("run-1c", "all-3")) == "forged"
    assert refusal(take=8) == "forged"
    assert refusal(kind="decision") == "forged"
    assert refusal(SEALED + b" ") == "forged"


def test_a_part_without_its_seal_or_under_another_key_is_refused() -> None:
    assert refusal(SEALED[:39]) == "damaged"
    assert refusal(keys=(OTHER_KEY,)) == "wrong_key"
    assert refusal(keys=()) == "wrong_key"


def test_a_ring_of_keys_opens_what_any_of_them_has_sealed() -> None:
    assert unseal_part((OTHER_KEY, KEY), "outcome", NAMES, SEALED, 7) == b"{}"
