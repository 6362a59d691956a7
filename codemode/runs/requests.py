"""Execs that may be sent again: a caller whose answer was lost repeats its request id; nothing runs twice.

The first of them reserves its run in the store; the others are answered with what became of that run. They
may come to any engine on the store.
"""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import suppress

from codemode_snapshots import (
    Claim,
    Ending,
    EnvelopeRefused,
    ExecRequest,
    RunScope,
    StoreFull,
    StoreUnavailable,
)
from codemode_snapshots.label import require_text
from msgspec.structs import replace

from codemode.contract.inputs import ExecInput, InputRefused
from codemode.contract.results import CodeModeResult, failed
from codemode.runs.adopt import ended
from codemode.runs.leg import Services
from codemode.runs.phases import new_run_id

_LOOK_S = 0.025
NOTE = "Answered from a kept result: this request was carried out before, and nothing ran now."


class Requests:
    """Reserves runs for requests; one per engine."""

    def __init__(self, services: Services) -> None:
        self._stored = services.stored
        self._timeout_s = services.config.timeout_ms / 1000

    async def reserve(self, caller: RunScope, program: ExecInput, request_id: str) -> Claim | CodeModeResult:
        """A claim on the run to begin, or the answer to one that was sent before. Raises InputRefused."""
        request = ExecRequest(caller, _read_id(request_id), _digest(program))
        run_id, until = new_run_id(), asyncio.get_running_loop().time() + self._timeout_s
        while True:
            try:
                found = await self._stored.reserve(request, run_id)
            except StoreFull as error:
                return failed("snapshot_limit_exceeded", f"The request cannot be noted: {error}")
            except StoreUnavailable as error:
                return failed("internal_error", f"The store cannot be written: {error}")
            if isinstance(found, Claim):
                return found
            if found.digest != request.digest:
                raise InputRefused(
                    "invalid_input", "This request_id was used for another program; use a new one."
                )
            if isinstance(found, Ending):
                return _noted(self._stored.result_of(found) or ended(found.how))
            if found.state is not None:
                gone_on = (
                    f"This request began {found.label.run_id}, which has gone on since: wait for that run."
                )
                return _noted(self._stored.answer_of(found) or failed("invalid_input", gone_on))
            if asyncio.get_running_loop().time() >= until:
                raise InputRefused("invalid_input", "This request is being carried out; send it again later.")
            await asyncio.sleep(_LOOK_S)  # its first leg is under way, here or elsewhere

    async def forget(self, claim: Claim) -> None:
        """Nothing was begun: the request may be sent again as a new one."""
        with suppress(StoreUnavailable):  # of a closed engine: what it had is nobody's
            await self._stored.release(claim)


def _noted(result: CodeModeResult) -> CodeModeResult:
    return replace(result, notes=(*result.notes, NOTE))


def _read_id(given: object) -> str:
    try:
        require_text(given, "damaged")  # pyright: ignore[reportArgumentType] - callers may be untyped
    except (EnvelopeRefused, AttributeError):
        raise InputRefused(
            "invalid_input", "request_id must be a text that is not blank, of at most 1024 bytes."
        ) from None
    return str(given)


def _digest(program: ExecInput) -> bytes:
    return hashlib.sha256(f"{program.language}\0{program.program}".encode("utf-8", "surrogatepass")).digest()
