"""The tables of a PostgreSQL store: `migrate` makes them, for a person or a job; engines only read `meta`.

A schema of version v can be used by code that knows v, and by older code from `oldest_reader` on: add first,
deploy, and take away in a later version.
"""

from __future__ import annotations

import psycopg
from psycopg import errors

from codemode_snapshots.errors import StoreUnavailable
from codemode_snapshots.postgres_connections import Connection, Connections, connect, translated

SCHEMA_VERSION = 1
OLDEST_READER = 1
_ONE_AT_A_TIME = 0x434D534E  # "CMSN": the advisory lock of a migration

# Texts compare as bytes. Snapshots and outcomes are compressed before they come here, or small: EXTERNAL
# spares the server another attempt. Claims change rows in place, so pages leave some room.
_TABLES = (
    "CREATE SCHEMA codemode",
    """CREATE TABLE codemode.meta (
        one boolean PRIMARY KEY DEFAULT true CHECK (one),
        version integer NOT NULL,
        oldest_reader integer NOT NULL,
        key_ids text[] NOT NULL)""",
    """CREATE TABLE codemode.totals (
        one boolean PRIMARY KEY DEFAULT true CHECK (one),
        runs bigint NOT NULL,
        bytes bigint NOT NULL,
        counted_at timestamptz NOT NULL)""",
    """CREATE TABLE codemode.nodes (
        node text COLLATE "C" PRIMARY KEY,
        build_ids text[] NOT NULL,
        key_ids text[] NOT NULL,
        process text NOT NULL,
        address text NOT NULL,
        draining boolean NOT NULL DEFAULT false,
        runs bigint NOT NULL DEFAULT 0,
        bytes bigint NOT NULL DEFAULT 0,
        joined_at timestamptz NOT NULL DEFAULT now(),
        lease_until timestamptz NOT NULL)""",
    """CREATE TABLE codemode.runs (
        run_id text COLLATE "C" PRIMARY KEY,
        agent text COLLATE "C" NOT NULL,
        session text COLLATE "C" NOT NULL,
        agent_run text COLLATE "C" NOT NULL,
        tool_call text COLLATE "C" NOT NULL,
        build_id text COLLATE "C" NOT NULL,
        created_at_ms bigint NOT NULL,
        expires_at_ms bigint NOT NULL,
        expires_at timestamptz NOT NULL,
        claim bigint NOT NULL DEFAULT 0,
        claimed_by text COLLATE "C",
        claimed_at timestamptz,
        touched boolean NOT NULL DEFAULT false,
        request_id text COLLATE "C",
        digest bytea,
        size_bytes bigint,
        state bytea,
        delta bytea,
        answer bytea) WITH (fillfactor = 85)""",
    "ALTER TABLE codemode.runs ALTER state SET STORAGE EXTERNAL, ALTER delta SET STORAGE EXTERNAL",
    "CREATE INDEX runs_by_expiry ON codemode.runs (expires_at) INCLUDE (size_bytes)",
    "CREATE INDEX runs_by_session ON codemode.runs (session, agent, created_at_ms)",
    "CREATE INDEX runs_claimed ON codemode.runs (claimed_by) WHERE claimed_by IS NOT NULL",
    "CREATE SEQUENCE codemode.settled",
    """CREATE TABLE codemode.calls (
        run_id text COLLATE "C" NOT NULL REFERENCES codemode.runs ON DELETE CASCADE,
        call_id text COLLATE "C" NOT NULL,
        held_by text COLLATE "C",
        take integer NOT NULL DEFAULT 1,
        idempotent boolean NOT NULL,
        asking text COLLATE "C",
        request bytea,
        decided text COLLATE "C",
        decision bytea,
        outcome bytea,
        settled bigint,
        size_bytes bigint NOT NULL GENERATED ALWAYS AS (coalesce(octet_length(request), 0)
            + coalesce(octet_length(decision), 0) + coalesce(octet_length(outcome), 0)) STORED,
        PRIMARY KEY (run_id, call_id)) WITH (fillfactor = 85)""",
    "ALTER TABLE codemode.calls ALTER outcome SET STORAGE EXTERNAL",
    """CREATE TABLE codemode.requests (
        agent text COLLATE "C" NOT NULL,
        session text COLLATE "C" NOT NULL,
        agent_run text COLLATE "C" NOT NULL,
        request_id text COLLATE "C" NOT NULL,
        run_id text COLLATE "C" NOT NULL,
        PRIMARY KEY (agent, session, agent_run, request_id))""",
    """CREATE TABLE codemode.endings (
        run_id text COLLATE "C" PRIMARY KEY,
        agent text COLLATE "C" NOT NULL,
        session text COLLATE "C" NOT NULL,
        agent_run text COLLATE "C" NOT NULL,
        tool_call text COLLATE "C" NOT NULL,
        request_id text COLLATE "C",
        digest bytea,
        how text NOT NULL,
        result bytea,
        at timestamptz NOT NULL DEFAULT now(),
        until timestamptz NOT NULL)""",
    """CREATE TABLE codemode.past (
        run_id text COLLATE "C" PRIMARY KEY,
        agent text COLLATE "C" NOT NULL,
        session text COLLATE "C" NOT NULL,
        agent_run text COLLATE "C" NOT NULL,
        tool_call text COLLATE "C" NOT NULL,
        status text COLLATE "C" NOT NULL,
        code text COLLATE "C" NOT NULL,
        language text COLLATE "C" NOT NULL,
        started_at_ms bigint NOT NULL,
        ended_at_ms bigint NOT NULL,
        legs integer NOT NULL,
        calls integer NOT NULL,
        tools text COLLATE "C" NOT NULL,
        words text COLLATE "C" NOT NULL,
        size_bytes bigint NOT NULL,
        body bytea NOT NULL)""",
    "CREATE INDEX past_by_start ON codemode.past (started_at_ms, run_id)",
    "CREATE INDEX past_by_end ON codemode.past (ended_at_ms, run_id) INCLUDE (size_bytes)",
    "CREATE INDEX endings_until ON codemode.endings (until)",
    "CREATE INDEX endings_by_age ON codemode.endings (at)",
    "INSERT INTO codemode.totals (runs, bytes, counted_at) VALUES (0, 0, '-infinity')",
)
# Made by every migration where they are missing: engines do without them.
_ADDED = (
    """CREATE TABLE IF NOT EXISTS codemode.facts (
        agent text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        data bytea NOT NULL,
        at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (agent, name))""",
    "CREATE INDEX IF NOT EXISTS facts_by_age ON codemode.facts (at DESC, agent, name)",
)
_SELECT_META = "SELECT version, oldest_reader, key_ids FROM codemode.meta"


def require_version(connections: Connections) -> None:
    """Raises StoreUnavailable if the tables are not those that this code uses. Changes nothing."""
    row = connections.row(_SELECT_META)
    version, oldest_reader = (0, 0) if row is None else row[:2]
    if version < SCHEMA_VERSION:
        raise StoreUnavailable(
            f"the database has codemode tables of version {version}, this codemode uses {SCHEMA_VERSION};"
            " run `codemode store migrate`"
        )
    if oldest_reader > SCHEMA_VERSION:
        raise StoreUnavailable(
            f"the database has codemode tables of version {version}, which need a newer codemode than this;"
            " upgrade it, nothing was touched"
        )


def migrate(url: str, key_id: str) -> list[str]:
    """Makes or renews the tables, and makes the key with this id the one that nodes must have.

    Returns what was done, a sentence each. All of it is one transaction; of several at once one does it.
    Runs keep the seals they have: nodes need the older keys as well until those runs are gone.
    """
    connection = connect(url)
    try:
        with translated(connection), connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [_ONE_AT_A_TIME])
            return _migrated(connection, key_id)
    finally:
        connection.close()


def _migrated(connection: Connection, key_id: str) -> list[str]:
    found = _meta(connection)
    if found is None:
        for statement in (*_TABLES, *_ADDED):
            connection.execute(statement.encode())
        connection.execute(
            "INSERT INTO codemode.meta (version, oldest_reader, key_ids) VALUES (%s, %s, %s)",
            [SCHEMA_VERSION, OLDEST_READER, [key_id]],
        )
        return [f"made the tables, version {SCHEMA_VERSION}, for the key {key_id}"]
    version, _, key_ids = found
    if version > SCHEMA_VERSION:
        raise StoreUnavailable(
            f"the tables have version {version}, this codemode knows {SCHEMA_VERSION};"
            " migrate with the newer one"
        )
    for statement in _ADDED:
        connection.execute(statement.encode())
    if key_ids[-1] == key_id:
        return []
    ring = [known for known in key_ids if known != key_id] + [key_id]
    connection.execute("UPDATE codemode.meta SET key_ids = %s", [ring])
    return [
        f"the key is now {key_id}; nodes need the older ones too until the runs sealed with them are gone"
    ]


def _meta(connection: Connection) -> tuple[int, int, list[str]] | None:
    try:
        with connection.transaction():  # a savepoint: the tables may not be there
            row = connection.execute(_SELECT_META.encode()).fetchone()
    except (errors.UndefinedTable, errors.InvalidSchemaName):
        return None
    except psycopg.errors.UndefinedColumn as error:
        raise StoreUnavailable("the schema codemode of this database belongs to another program") from error
    return None if row is None else (row[0], row[1], row[2])
