"""What a node asked for and does not know whether it got, because the line was cut before the answer.

A run that is claimed, or a call that is held, by a living node that does not know of it would hang until it
expires. So the same question, asked again, is answered as the first time; and if it is not asked again, the
next beat gives back what there is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping, Sequence

from codemode_snapshots.postgres_connections import Connections, Lost
from codemode_snapshots.postgres_statements import GIVE_BACK_CLAIMS, GIVE_BACK_DECISIONS

Asked = tuple[str, ...]  # a run id for a claim; a run and an approval id for a decision


class UnsureAnswers:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._unsure: set[tuple[str, Asked]] = set()  # of which node, and what

    @contextlib.contextmanager
    def asking(self, node: str, *asked: str) -> Generator[bool]:
        """Around a statement. Gives whether this node asks again; remembers it if the line is cut."""
        try:
            yield (node, asked) in self._unsure
        except Lost:
            self._unsure.add((node, asked))
            raise
        self._unsure.discard((node, asked))

    def give_back(self, node: str) -> Sequence[str]:
        """The ids of the runs that this changed."""
        unsure = [asked for by, asked in tuple(self._unsure) if by == node]
        claims = [asked for asked in unsure if len(asked) == 1]
        decisions = [asked for asked in unsure if len(asked) == 2]
        freed: list[str] = []
        if claims:
            freed += self._run(GIVE_BACK_CLAIMS, {"run_ids": _column(claims, 0), "node": node})
        if decisions:
            values = {"run_ids": _column(decisions, 0), "approval_ids": _column(decisions, 1), "node": node}
            freed += self._run(GIVE_BACK_DECISIONS, values)
        for asked in unsure:
            self._unsure.discard((node, asked))
        return freed

    def _run(self, statement: str, values: Mapping[str, object]) -> list[str]:
        return [row[0] for row in self._connections.rows(statement, values)]


def _column(asked: Sequence[Asked], place: int) -> list[str]:
    return [one[place] for one in asked]
