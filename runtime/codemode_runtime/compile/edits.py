"""Changes to a program that keep its line numbers.

Blanking overwrites bytes with spaces and leaves line breaks alone, so that nothing moves. Where JavaScript
needs more text than TypeScript had (an enum, a namespace), `insert` and `replace` add it on the line of the
construct: columns move on that line only.
"""

from .positions import LINE_BREAK


class Edits:
    def __init__(self, source: bytes) -> None:
        self.source = source
        self._code = bytearray(source)
        # (offset, 0 for an insertion and 1 for a replacement, order, end, text)
        self._splices: list[tuple[int, int, int, int, bytes]] = []

    def blank(self, start: int, end: int) -> None:
        position = start
        for line_break in LINE_BREAK.finditer(self.source, start, end):
            self._code[position : line_break.start()] = b" " * (line_break.start() - position)
            position = line_break.end()
        self._code[position:end] = b" " * (end - position)

    def put(self, offset: int, character: bytes) -> None:
        """Write one ASCII character over a blanked one."""
        self._code[offset : offset + 1] = character

    def blank_statement(self, start: int, end: int) -> None:
        """Blank a statement or member, and end the one before it, which may have relied on a line break."""
        self.blank(start, end)
        self.put(start, b";")

    def insert(self, offset: int, text: str, *, opened: int) -> None:
        """Add text before `offset`; of two insertions at one place, what was opened last closes first."""
        self._splices.append((offset, 0, -opened, offset, text.encode()))

    def replace(self, start: int, end: int, text: str) -> None:
        """Put text in place of a span, followed by the line breaks that the span held."""
        breaks = b"".join(LINE_BREAK.findall(self.source, start, end))
        self._splices.append((start, 1, -start, end, text.encode() + breaks))

    def blanked(self) -> bytes:
        """The code with everything blanked and nothing spliced: what is left of the program's own text."""
        return bytes(self._code)

    def finish(self) -> bytes:
        parts: list[bytes] = []
        position = 0
        for offset, _, _, end, text in sorted(self._splices):
            parts += (bytes(self._code[position:offset]), text)
            position = end
        parts.append(bytes(self._code[position:]))
        return b"".join(parts)
