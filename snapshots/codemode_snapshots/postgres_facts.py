"""Facts in the database of a run store; see facts.py. A crash of the database may take the last of them."""

from __future__ import annotations

from collections.abc import Mapping

from codemode_snapshots.facts import MAX_FACTS, MAX_FACTS_IN_ALL, fitting
from codemode_snapshots.postgres_connections import Connections

_PUT = """
INSERT INTO codemode.facts AS f (agent, name, data)
SELECT %(agent)s, given.name, given.data
FROM unnest(%(names)s::text[], %(data)s::bytea[]) AS given (name, data) ORDER BY given.name
ON CONFLICT (agent, name) DO UPDATE SET data = excluded.data, at = now()"""
_GET = "SELECT name, data FROM codemode.facts WHERE agent = %(agent)s"
_DROP_OWN = """
DELETE FROM codemode.facts WHERE agent = %(agent)s AND name IN (
    SELECT name FROM codemode.facts WHERE agent = %(agent)s ORDER BY at DESC, name OFFSET %(most)s)"""
_DROP = """
DELETE FROM codemode.facts WHERE (agent, name) IN (
    SELECT agent, name FROM codemode.facts ORDER BY at DESC, agent, name OFFSET %(most)s)"""


class PostgresFacts:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def put(self, agent: str, facts: Mapping[str, bytes]) -> None:
        kept = fitting(facts)
        given = {"agent": agent, "names": [name for name, _ in kept], "data": [data for _, data in kept]}
        self._connections.rows(_PUT, given)
        self._connections.rows(_DROP_OWN, {"agent": agent, "most": MAX_FACTS})
        self._connections.rows(_DROP, {"most": MAX_FACTS_IN_ALL})

    def get(self, agent: str) -> dict[str, bytes]:
        return {str(row[0]): bytes(row[1]) for row in self._connections.rows(_GET, {"agent": agent})}
