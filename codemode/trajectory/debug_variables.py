"""The variables of the environment that make the engine tell more. Whoever sets one wants to read stderr.

Each has a name of ours and the name that OpenClaw gives to the same thing; ours goes first. A value that does
not exist is warned about and changes nothing.
"""

from __future__ import annotations

import logging
import os

from msgspec import Struct

_log = logging.getLogger("codemode")
_OFF = ("", "0", "off", "false", "no")
_warned: set[tuple[str, str]] = set()


class DebugVariable(Struct, frozen=True):
    name: str
    alias: str
    values: tuple[str, ...]

    def read(self) -> str | None:
        """Its value, or None: not set, switched off, or wrong."""
        for name in (self.name, self.alias):
            given = os.environ.get(name, "").strip()
            if given.lower() in _OFF:
                continue
            if given.lower() in self.values:
                return given.lower()
            self._warn(name, given)
        return None

    @property
    def is_set(self) -> bool:
        return any(os.environ.get(name, "").strip().lower() not in _OFF for name in (self.name, self.alias))

    def _warn(self, name: str, given: str) -> None:
        if (name, given) not in _warned:
            _warned.add((name, given))
            known = " or ".join(f"{name}={value}" for value in self.values)
            _log.warning("%s=%.40r is not known and ignored; set %s", name, given, known)


DEBUG = DebugVariable("CODEMODE_DEBUG", "OPENCLAW_DEBUG_CODE_MODE", ("1",))
MODEL_PAYLOAD = DebugVariable(
    "CODEMODE_DEBUG_MODEL_PAYLOAD", "OPENCLAW_DEBUG_MODEL_PAYLOAD", ("tools", "full-redacted")
)
SSE = DebugVariable("CODEMODE_DEBUG_SSE", "OPENCLAW_DEBUG_SSE", ("events", "peek"))
VARIABLES = (DEBUG, MODEL_PAYLOAD, SSE)
