"""Who a snapshot belongs to: its scope, run, engine build and lifetime.

Both types check themselves when they are made, so a missing field fails closed before any comparison, and
every text in them can be encoded, bound to SQL and compared as it is.
"""

import msgspec

from codemode_snapshots.errors import EnvelopeRefused, Reason

FIELD_BYTES_MAX = 1024
TIME_MS_MAX = 2**63 - 1


class RunScope(msgspec.Struct, frozen=True):
    """The four names a run is bound to. A host without one of these notions uses a constant for it."""

    agent: str
    session: str
    agent_run: str
    tool_call: str

    def __post_init__(self) -> None:
        for field in (self.agent, self.session, self.agent_run, self.tool_call):
            if not (field and field.isascii() and len(field) <= FIELD_BYTES_MAX) or field.isspace():
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
    """Refuse a text that is absent, blank, over the limit or not encodable."""
    # Callers pass on what a host gave them, so None can arrive in spite of the annotation.
    if field is None or not field.strip():
        raise EnvelopeRefused(missing)
    try:
        size = len(field.encode())
    except UnicodeEncodeError:  # a lone surrogate, as JSON input may carry
        raise EnvelopeRefused(missing) from None
    if size > FIELD_BYTES_MAX:
        raise EnvelopeRefused("too_large")
