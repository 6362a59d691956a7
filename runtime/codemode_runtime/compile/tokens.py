"""Where the next token of a program starts: spaces and comments as ECMAScript has them."""

import re

from .positions import LINE_BREAK

# UTF-8 of U+00A0, U+FEFF, U+1680, U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F and U+3000.
_WIDE = rb"\xc2\xa0|\xef\xbb\xbf|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80"
_LINE_COMMENT = rb"//(?:[^\n\r\xe2]|\xe2(?!\x80[\xa8\xa9]))*+"
SPACE_AND_COMMENTS = rb"(?:\s|" + _WIDE + rb"|" + _LINE_COMMENT + rb"|/\*(?:[^*]|\*(?!/))*+\*/)*+"
WORD = rb"(?:[\w$\\]|(?!" + _WIDE + rb")[\x80-\xff])++"
_SPACES = re.compile(SPACE_AND_COMMENTS)


def next_code(source: bytes, offset: int) -> tuple[int, bool]:
    """Where the next token starts, and whether a line break comes before it."""
    found = _SPACES.match(source, offset)
    end = found.end() if found else offset
    return end, LINE_BREAK.search(source, offset, end) is not None
