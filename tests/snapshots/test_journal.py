"""A recorded settlement is believed by the program, so it has to be exactly the one that was recorded."""

import pytest
from codemode_snapshots import EnvelopeRefused, Recorded, seal_settlement, unseal_settlement
from msgspec.structs import replace

from tests.snapshots.samples import KEY

RESULT = Recorded(7, "call", "call-3", b'{"ok":true}')
SEALED = seal_settlement(KEY, "run-1", RESULT)


def refusal(settlement: Recorded, *, key: bytes = KEY, run_id: str = "run-1") -> str:
    with pytest.raises(EnvelopeRefused) as refused:
        unseal_settlement(key, run_id, settlement)
    return refused.value.reason


def test_a_sealed_settlement_opens_as_it_was() -> None:
    assert unseal_settlement(KEY, "run-1", SEALED) == RESULT
    assert len(SEALED.payload) == len(RESULT.payload) + 32


@pytest.mark.parametrize(
    "moved",
    [
        replace(SEALED, seq=8),
        replace(SEALED, kind="decision"),
        replace(SEALED, call_id="call-4"),
        replace(SEALED, payload=SEALED.payload + b" "),
        replace(SEALED, payload=b"\x00" * 40),
    ],
)
def test_a_settlement_moved_to_another_place_is_refused(moved: Recorded) -> None:
    assert refusal(moved) == "forged"


def test_a_settlement_of_another_run_or_key_is_refused() -> None:
    assert refusal(SEALED, run_id="run-2") == "forged"
    assert refusal(SEALED, key=bytes(32)) == "forged"


def test_a_settlement_without_its_seal_is_refused() -> None:
    assert refusal(RESULT) == "damaged"
