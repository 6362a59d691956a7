"""Writes snapshots/golden/: envelopes of format 1 and what must become of each.

Run once per format version: python -m tests.snapshots.make_golden. Files of older formats stay as they are;
one test reads them all, another sees that format 1 is still sealed byte for byte.
"""

import json
import struct
from pathlib import Path

from codemode_snapshots import Label, RunScope, seal

GOLDEN = Path(__file__).parents[2] / "snapshots" / "golden"

KEY = bytes(range(32))
OTHER_KEY = bytes(range(32, 64))
NOW_MS = 1_800_000_000_000
SCOPE = RunScope("agent-1", "session-1", "turn-1", "call-1")
LABEL = Label("build-1", "run-1", SCOPE, NOW_MS - 1000, NOW_MS + 899_000)
STATE = b'{"pending":["c-1"]}'
DELTA = bytes(range(256))


def files() -> dict[str, tuple[bytes, str]]:
    """Name → bytes and verdict, all opened with the same expectations."""
    good = seal(KEY, LABEL, state=STATE, delta=DELTA)
    far_state = bytearray(good)
    struct.pack_into("<I", far_state, 32, 2**32 - 1)
    other_scope = RunScope("agent-1", "session-2", "turn-1", "call-1")
    return {
        "v1-good": (good, "loads"),
        "v1-empty-body": (seal(KEY, LABEL, state=b"", delta=b""), "loads"),
        "v1-truncated": (good[:-1], "refused:damaged"),
        "v1-header-only": (good[:40], "refused:damaged"),
        "v1-trailing-byte": (good + b"\x00", "refused:damaged"),
        "v1-length-past-the-end": (bytes(far_state), "refused:damaged"),
        "v1-flipped-bit": (good[:-40] + bytes([good[-40] ^ 1]) + good[-39:], "refused:forged"),
        "v1-flipped-mac": (good[:-1] + bytes([good[-1] ^ 1]), "refused:forged"),
        "v1-other-key": (seal(OTHER_KEY, LABEL, state=STATE, delta=DELTA), "refused:wrong_key"),
        "v1-other-build": (
            seal(KEY, _label(build_id="build-2"), state=STATE, delta=DELTA),
            "refused:wrong_build",
        ),
        "v1-other-run": (seal(KEY, _label(run_id="run-2"), state=STATE, delta=DELTA), "refused:wrong_run"),
        "v1-other-session": (
            seal(KEY, _label(scope=other_scope), state=STATE, delta=DELTA),
            "refused:wrong_scope",
        ),
        "v1-expired": (seal(KEY, _label(expires_at_ms=NOW_MS), state=STATE, delta=DELTA), "refused:expired"),
        "v1-too-large": (seal(KEY, LABEL, state=STATE, delta=bytes(2048)), "refused:too_large"),
        "v2-unknown-format": (b"CMSN\x02\x00" + good[6:], "refused:wrong_version"),
        "not-an-envelope": (b"\x89PNG\r\n\x1a\n" + bytes(64), "refused:damaged"),
        "empty": (b"", "refused:damaged"),
    }


def verdicts() -> dict[str, object]:
    return {
        "openWith": {
            "key": KEY.hex(),
            "buildId": LABEL.build_id,
            "runId": LABEL.run_id,
            "scope": [SCOPE.agent, SCOPE.session, SCOPE.agent_run, SCOPE.tool_call],
            "nowMs": NOW_MS,
            "maxBytes": 2048,
        },
        "verdicts": {f"{name}.snap": verdict for name, (_, verdict) in files().items()},
    }


def _label(
    *,
    build_id: str = "build-1",
    run_id: str = "run-1",
    scope: RunScope = SCOPE,
    expires_at_ms: int = NOW_MS + 899_000,
) -> Label:
    return Label(build_id, run_id, scope, NOW_MS - 1000, expires_at_ms)


if __name__ == "__main__":
    for name, (data, _) in files().items():
        (GOLDEN / f"{name}.snap").write_bytes(data)
    (GOLDEN / "verdicts.json").write_text(json.dumps(verdicts(), indent=2) + "\n")
