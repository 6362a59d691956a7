"""The refusals of the persistence plane, one class for each way to refuse.

`code` (and `reason`, `limit`) are stable and meant for programs; messages are sentences for people and may
change.
"""

from typing import ClassVar, Literal

Reason = Literal[
    "damaged",
    "wrong_version",
    "wrong_key",
    "forged",
    "wrong_build",
    "wrong_run",
    "wrong_scope",
    "expired",
    "too_large",
]

LimitName = Literal["snapshot_bytes", "snapshots", "total_bytes"]

_REFUSALS: dict[Reason, str] = {
    "damaged": "the bytes are not a complete envelope",
    "wrong_version": "the envelope was written in a format this version does not read",
    "wrong_key": "the envelope was sealed with another key",
    "forged": "the integrity check failed",
    "wrong_build": "the envelope belongs to another engine build",
    "wrong_run": "the envelope belongs to another run",
    "wrong_scope": "the envelope belongs to another scope, or a scope field is missing",
    "expired": "the envelope is past its expiry",
    "too_large": "the envelope or one of its fields is over its limit",
}


class SnapshotError(Exception):
    """Base of everything this package raises on purpose."""

    code: ClassVar[str] = "snapshot_error"


class EnvelopeRefused(SnapshotError):
    """These bytes (or these label fields) must not be used. Nothing was read out of them; nothing changed."""

    code = "envelope_refused"

    def __init__(self, reason: Reason) -> None:
        self.reason: Reason = reason
        super().__init__(f"{_REFUSALS[reason]} ({reason})")


class NotHeld(SnapshotError):
    """The caller does not hold this run: it ended elsewhere, or the id is taken. Nothing was written."""

    code = "not_held"

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(f"run {run_id!r} is not held by this caller")


class StoreFull(SnapshotError):
    """A limit of the store is reached. Nothing was written; a purge of expired runs may make room."""

    code = "store_full"

    def __init__(self, limit: LimitName, allowed: int, wanted: int) -> None:
        self.limit: LimitName = limit
        self.allowed = allowed
        self.wanted = wanted
        super().__init__(f"the snapshot store allows {allowed} ({limit}), this would make it {wanted}")


class StoreUnavailable(SnapshotError):
    """The store cannot be used as it is; the sentence says what to do. Committed runs are untouched."""

    code = "store_unavailable"


class KeyRefused(SnapshotError):
    """The key file cannot be trusted or read; the sentence says what to do. No key was made or changed."""

    code = "key_refused"
