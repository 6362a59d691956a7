"""What is kept of a command's output: its beginning and its end, and how much was between them."""

from __future__ import annotations


class OutputTail:
    def __init__(self, most: int) -> None:
        self._half = max(most // 2, 1)
        self._first = bytearray()
        self._last = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = self._half - len(self._first)
        if room > 0:
            self._first += data[:room]
            data = data[room:]
        self._last += data
        if len(self._last) > 4 * self._half:
            del self._last[: -self._half]

    @property
    def omitted(self) -> int:
        return max(self.total - len(self._first) - self._half, 0)

    def text(self) -> str:
        """Bytes that are no UTF-8 become question marks of their own kind."""
        last = self._last[-self._half :]
        if not self.omitted:
            return bytes(self._first + last).decode(errors="replace")
        first = self._first.decode(errors="replace")
        return f"{first}\n… {self.omitted} bytes left out …\n{last.decode(errors='replace')}"

    def newest(self, most: int) -> str:
        return bytes((self._first + self._last)[-most:]).decode(errors="replace")
