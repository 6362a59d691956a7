"""The tables of a run store in SQLite, schema 2.

Small mutable rows are apart from the bodies, because a claim must not rewrite megabytes; in a body the state
comes before the delta, so that a look reads the first pages only. Triggers keep the totals, so no path can
forget them. `runs.changes` grows with each change that other nodes may want to hear of.
"""

SCHEMA_VERSION = 2

SCHEMA = (
    """CREATE TABLE runs (
        id INTEGER PRIMARY KEY,
        run_id TEXT NOT NULL UNIQUE,
        agent TEXT NOT NULL,
        session TEXT NOT NULL,
        agent_run TEXT NOT NULL,
        tool_call TEXT NOT NULL,
        request_id TEXT,
        digest BLOB,
        build_id TEXT NOT NULL,
        created_at_ms INTEGER NOT NULL,
        expires_at_ms INTEGER NOT NULL,
        is_stored INTEGER NOT NULL,
        size_bytes INTEGER NOT NULL,
        number INTEGER NOT NULL DEFAULT 0,
        claimed_by TEXT,
        claimed_at_ms INTEGER,
        is_touched INTEGER NOT NULL DEFAULT 0,
        changes INTEGER NOT NULL DEFAULT 0)""",
    "CREATE INDEX runs_by_expiry ON runs (expires_at_ms)",
    "CREATE INDEX runs_by_session ON runs (agent, session, created_at_ms)",
    "CREATE INDEX runs_claimed ON runs (claimed_by) WHERE claimed_by IS NOT NULL",
    """CREATE UNIQUE INDEX runs_by_request ON runs (agent, session, agent_run, request_id)
        WHERE request_id IS NOT NULL""",
    "CREATE TABLE bodies (id INTEGER PRIMARY KEY, state BLOB NOT NULL, answer BLOB, delta BLOB NOT NULL)",
    """CREATE TABLE calls (
        run INTEGER NOT NULL,
        call_id TEXT NOT NULL,
        held_by TEXT,
        take INTEGER NOT NULL DEFAULT 1,
        idempotent INTEGER NOT NULL,
        asking TEXT,
        settled INTEGER,
        request BLOB,
        decision BLOB,
        outcome BLOB,
        UNIQUE (run, call_id))""",
    """CREATE TABLE endings (
        id INTEGER PRIMARY KEY,
        run_id TEXT NOT NULL UNIQUE,
        agent TEXT NOT NULL,
        session TEXT NOT NULL,
        agent_run TEXT NOT NULL,
        tool_call TEXT NOT NULL,
        request_id TEXT,
        digest BLOB,
        how TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        until_ms INTEGER NOT NULL,
        result BLOB)""",
    "CREATE INDEX endings_by_time ON endings (until_ms)",
    """CREATE UNIQUE INDEX endings_by_request ON endings (agent, session, agent_run, request_id)
        WHERE request_id IS NOT NULL""",
    """CREATE TABLE nodes (
        node TEXT PRIMARY KEY,
        process TEXT NOT NULL,
        builds TEXT NOT NULL,
        key_ids TEXT NOT NULL,
        address TEXT NOT NULL,
        is_draining INTEGER NOT NULL DEFAULT 0,
        boot TEXT NOT NULL,
        lease_until_ms INTEGER NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE past (
        run_id TEXT PRIMARY KEY,
        agent TEXT NOT NULL,
        session TEXT NOT NULL,
        agent_run TEXT NOT NULL,
        tool_call TEXT NOT NULL,
        status TEXT NOT NULL,
        code TEXT NOT NULL,
        language TEXT NOT NULL,
        started_at_ms INTEGER NOT NULL,
        ended_at_ms INTEGER NOT NULL,
        legs INTEGER NOT NULL,
        calls INTEGER NOT NULL,
        tools TEXT NOT NULL,
        words TEXT NOT NULL,
        size_bytes INTEGER NOT NULL,
        body BLOB NOT NULL)""",
    "CREATE INDEX past_by_start ON past (started_at_ms, run_id)",
    "CREATE INDEX past_by_end ON past (ended_at_ms, run_id, size_bytes)",
    """CREATE TABLE totals (
        runs INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        endings INTEGER NOT NULL,
        result_bytes INTEGER NOT NULL,
        settled INTEGER NOT NULL)""",
    "INSERT INTO totals VALUES (0, 0, 0, 0, 0)",
    """CREATE TRIGGER run_added AFTER INSERT ON runs BEGIN
        UPDATE totals SET runs = runs + new.is_stored, bytes = bytes + new.size_bytes;
    END""",
    """CREATE TRIGGER run_resized AFTER UPDATE OF size_bytes, is_stored ON runs BEGIN
        UPDATE totals SET runs = runs - old.is_stored + new.is_stored,
            bytes = bytes - old.size_bytes + new.size_bytes;
    END""",
    """CREATE TRIGGER run_removed AFTER DELETE ON runs BEGIN
        DELETE FROM bodies WHERE id = old.id;
        DELETE FROM calls WHERE run = old.id;
        UPDATE totals SET runs = runs - old.is_stored, bytes = bytes - old.size_bytes;
    END""",
    """CREATE TRIGGER ending_added AFTER INSERT ON endings BEGIN
        UPDATE totals SET endings = endings + 1, result_bytes = result_bytes + coalesce(length(new.result),
        0);
    END""",
    """CREATE TRIGGER ending_removed AFTER DELETE ON endings BEGIN
        UPDATE totals SET endings = endings - 1, result_bytes = result_bytes - coalesce(length(old.result),
        0);
    END""",
)

# Made at every opening where they are missing: files of this schema may be older than they are.
ADDED = (
    """CREATE TABLE IF NOT EXISTS facts (
        agent TEXT NOT NULL,
        name TEXT NOT NULL,
        written INTEGER NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (agent, name)) WITHOUT ROWID""",
)
