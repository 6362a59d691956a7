"""How a leg failed: a code, and a text for the model. codemode/failures/ writes most of them."""

from __future__ import annotations

from msgspec import Struct

from codemode.contract.error_codes import ERRORS, ErrorCode, Phase


class Explained(Struct, frozen=True):
    code: ErrorCode
    text: str

    @property
    def phase(self) -> Phase:
        return ERRORS[self.code].phase
