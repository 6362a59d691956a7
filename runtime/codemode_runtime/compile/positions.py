"""Where a byte offset lies in the program, and the one way this package refuses a program.

Lines end as ECMAScript says (LF, CR, CRLF, LS, PS). Columns count UTF-8 bytes from 1, because QuickJS-NG
counts them so: a position from here and one from the engine can be compared.
"""

import re
from typing import Literal

RefusalCode = Literal["invalid_input", "module_access_denied", "typescript_transform_failed"]

LINE_BREAK = re.compile(rb"\r\n|[\r\n]|\xe2\x80[\xa8\xa9]")

_MAX_QUOTE = 240


class SourceError(Exception):
    """The program is refused before anything runs; sending a corrected one is the caller's move.

    `line` and `column` are those of the text as sent, or None where the whole text is at fault.
    No guest was started and no tool was called.
    """

    def __init__(
        self,
        code: RefusalCode,
        message: str,
        *,
        line: int | None = None,
        column: int | None = None,
        source_line: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code: RefusalCode = code
        self.message = message
        self.line = line
        self.column = column
        self.source_line = source_line


def refusal_at(code: RefusalCode, message: str, source: bytes, offset: int) -> SourceError:
    """A refusal that quotes the line of `source` in which `offset` lies, cut to a readable length."""
    line = 1
    line_start = 0
    line_end = len(source)
    for found in LINE_BREAK.finditer(source):
        if found.end() > offset:
            line_end = found.start()
            break
        line += 1
        line_start = found.end()
    quoted = source[line_start:line_end].decode("utf-8", "replace")
    if len(quoted) > _MAX_QUOTE:
        quoted = quoted[:_MAX_QUOTE] + "…"
    return SourceError(code, message, line=line, column=offset - line_start + 1, source_line=quoted)
