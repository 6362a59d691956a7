"""Who a snapshot belongs to: its scope, run, engine build and lifetime.

Both types check themselves when they are made, so a missing field fails closed before any comparison, and
every text in them can be encoded, bound to SQL and compared as it is.
"""

from typing import TypeGuard

import msgspec

from codemode_snapshots.errors import EnvelopeRefused, Reason

FIELD_BYTES_MAX = 1024
TIME_MS_MAX = 2**63 - 1
NO_VALUE = "-"  # a scope field of a host that has no such notion


class RunScope(msgspec.Struct, frozen=True):
    """The four names a run is bound to. A host without one of these notions uses a constant for it."""

    agent: str
    session: str
    agent_run: str
    tool_call: str

    def __post_init__(self) -> None:
        for field in (self.agent, self.session, self.agent_run, self.tool_call):
            if (
                not (field and field.isascii() and len(field) <= FIELD_BYTES_MAX)
                or field.isspace()
                or "\0" in field
            ):
                require_text(field, "wrong_scope")  # the full check, which few fields need


class Label(msgspec.Struct, frozen=True):
    """What an envelope says about its contents. Times are unix milliseconds."""

    build_id: str
    run_id: str
    scope: RunScope
    created_at_ms: int
    expires_at_ms: int

    def __post_init__(self) -> None:
        require_text(self.build_id, "wrong_build")
        require_text(self.run_id, "wrong_run")
        for time_ms in (self.created_at_ms, self.expires_at_ms):
            if not 0 <= time_ms <= TIME_MS_MAX:
                raise EnvelopeRefused("damaged")


def require_text(field: str | None, missing: Reason) -> None:
    """Refuse a text that is absent, blank, over the limit, or that not every store can keep."""
    # Callers pass on what a host gave them, so None can arrive in spite of the annotation.
    if field is None or not field.strip() or not is_text(field):
        raise EnvelopeRefused(missing)
    if len(field.encode()) > FIELD_BYTES_MAX:
        raise EnvelopeRefused("too_large")


def is_text(value: object) -> bool:
    """Whether it is a text that every store can keep: without half a surrogate pair, as JSON may carry, and
    without NUL, which PostgreSQL does not take."""
    return is_unicode(value) and "\0" not in value


def is_unicode(value: object) -> TypeGuard[str]:
    """Whether it is a text without half a surrogate pair, as JSON may carry."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def value_given(field: str) -> str:
    """A scope field for people: empty where the host has no such notion."""
    return "" if field == NO_VALUE else field
