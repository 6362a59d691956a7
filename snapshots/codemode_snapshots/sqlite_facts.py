"""Facts in the SQLite file of a run store; see facts.py."""

from collections.abc import Mapping

from codemode_snapshots.facts import MAX_FACTS, MAX_FACTS_IN_ALL, fitting
from codemode_snapshots.sqlite_tables import Tables

_PUT = """INSERT INTO facts (agent, name, written, data) VALUES (?, ?, ?, ?)
    ON CONFLICT (agent, name) DO UPDATE SET written = excluded.written, data = excluded.data"""
_LAST = "SELECT coalesce(max(written), 0) FROM facts"
_GET = "SELECT name, data FROM facts WHERE agent = ?"
_DROP_OWN = """DELETE FROM facts WHERE agent = ? AND name IN
    (SELECT name FROM facts WHERE agent = ? ORDER BY written DESC, name LIMIT -1 OFFSET ?)"""
_COUNT = "SELECT count(*) FROM facts"
_DROP = """DELETE FROM facts WHERE (agent, name) IN
    (SELECT agent, name FROM facts ORDER BY written DESC, agent, name LIMIT -1 OFFSET ?)"""


class SqliteFacts:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def put(self, agent: str, facts: Mapping[str, bytes]) -> None:
        with self._tables.writing():
            number = self._tables.one(_LAST)[0] + 1
            for name, data in fitting(facts):
                self._tables.do(_PUT, agent, name, number, data)
            self._tables.do(_DROP_OWN, agent, agent, MAX_FACTS)
            if self._tables.one(_COUNT)[0] > MAX_FACTS_IN_ALL:
                self._tables.do(_DROP, MAX_FACTS_IN_ALL)

    def get(self, agent: str) -> dict[str, bytes]:
        with self._tables.reading():
            return {str(name): bytes(data) for name, data in self._tables.do(_GET, agent)}
