"""The SQL of the PostgreSQL store: one statement for each step of a run; postgres.py gives them values.

Each is a transaction by itself, at READ COMMITTED. A row that changed since the statement's snapshot is
looked at again by PostgreSQL, but rows of *other* tables are not. So `CLAIM` compares what it saw of the run
with what it changes: calls are only added while a claim ends, and that changes `claimed_by`.
"""

# For what may be lost with the power: a transaction that says this does not wait for the disk. It is said in
# the statement, because a pooler may give each statement another session.
_RELAXED = "set_config('synchronous_commit', 'off', true)"

_ALIVE = "alive AS MATERIALIZED (SELECT node FROM codemode.nodes WHERE lease_until > now())"
_MS = "* interval '1 millisecond'"
_SCOPE = "agent = %(agent)s AND session = %(session)s AND agent_run = %(agent_run)s"
# A claim ends with the lease of its node, also if nobody has taken it over: others may have been told so.
_LIVES = "EXISTS (SELECT FROM codemode.nodes WHERE node = {node} AND lease_until > now())"
_CLAIMED = "run_id = %(run_id)s AND claimed_by = %(node)s AND claim = %(number)s AND " + _LIVES.format(
    node="%(node)s"
)
_HELD = (
    "run_id = %(run_id)s AND call_id = %(call_id)s AND held_by = %(node)s AND take = %(take)s"
    " AND outcome IS NULL"
)
# How a run is over that nobody has ended yet; NULL if it goes on.
_IS_DEAD = "r.claimed_by NOT IN (SELECT node FROM alive)"
_HOW = f"""CASE
    WHEN r.claimed_by IS NULL OR (NOT r.touched AND {_IS_DEAD})
        THEN CASE WHEN r.expires_at <= now() THEN 'expired' END
    WHEN {_IS_DEAD} OR (r.expires_at <= now() AND r.claimed_at <= now() - %(stuck_ms)s {_MS})
        THEN 'interrupted' END"""
_SEEN = f"""seen AS MATERIALIZED (
    SELECT r.*, {_HOW} AS how,
        CASE WHEN r.claimed_by IN (SELECT node FROM alive) THEN r.claimed_by END AS holder
    FROM codemode.runs r WHERE run_id = %(run_id)s AND {_SCOPE})"""
_ENDED = f"""ended AS (
    SELECT * FROM codemode.endings WHERE run_id = %(run_id)s AND {_SCOPE} AND until > now())"""

# What postgres_rows.py reads: a run, its calls as arrays (one element each), an ending.
_RUN = """seen.run_id, seen.agent, seen.session, seen.agent_run, seen.tool_call, seen.build_id,
    seen.created_at_ms, seen.expires_at_ms, coalesce(seen.size_bytes, 0) + coalesce(calls.bytes, 0),
    seen.claim, seen.holder, seen.how, (extract(epoch FROM now()) * 1000)::bigint, seen.state, seen.answer,
    seen.digest"""
_CALLS = """calls.call_ids, calls.held_by, calls.takes, calls.idempotent, calls.asking, calls.requests,
    calls.decisions, calls.settled, calls.orphaned"""
_JOIN_CALLS = """LEFT JOIN LATERAL (
    SELECT array_agg(c.call_id) AS call_ids, array_agg(c.held_by) AS held_by, array_agg(c.take) AS takes,
        array_agg(c.idempotent) AS idempotent, array_agg(c.asking) AS asking,
        array_agg(c.request) AS requests,
        array_agg(c.decision) AS decisions, array_agg(c.settled) AS settled,
        array_agg(c.outcome IS NULL AND c.held_by NOT IN (SELECT node FROM alive)) AS orphaned,
        array_agg(c.outcome) AS outcomes, sum(c.size_bytes)::bigint AS bytes
    FROM (SELECT * FROM codemode.calls c WHERE c.run_id = seen.run_id ORDER BY call_id) c) calls ON true"""
_ENDING = """ended.run_id, ended.agent, ended.session, ended.agent_run, ended.tool_call, ended.how,
    (extract(epoch FROM ended.at) * 1000)::bigint, ended.result, ended.digest"""
_FROM = (
    f"""FROM (VALUES (1)) one LEFT JOIN seen ON true LEFT JOIN ended ON seen.run_id IS NULL {_JOIN_CALLS}"""
)

# ---- nodes -------------------------------------------------------------------------------------------------

JOIN = f"""
WITH meta AS (SELECT key_ids, key_ids[cardinality(key_ids)] AS current FROM codemode.meta),
entered AS (
    INSERT INTO codemode.nodes (node, build_ids, key_ids, process, address, lease_until)
    SELECT %(node)s, %(builds)s::text[], %(key_ids)s::text[], %(process)s, %(address)s,
        now() + %(lease_ms)s {_MS}
    FROM meta WHERE meta.current = ANY(%(key_ids)s::text[]) AND (%(key_ids)s::text[])[1] = ANY(meta.key_ids)
    ON CONFLICT (node) DO NOTHING RETURNING 1)
SELECT meta.current = ANY(%(key_ids)s::text[]) AND (%(key_ids)s::text[])[1] = ANY(meta.key_ids),
    meta.current, EXISTS (SELECT FROM entered) FROM meta"""
BEAT = f"""
UPDATE codemode.nodes SET lease_until = now() + %(lease_ms)s {_MS}, runs = %(runs)s, bytes = %(bytes)s,
    draining = %(draining)s
WHERE node = %(node)s AND lease_until > now() RETURNING {_RELAXED}"""
LEAVE = "UPDATE codemode.nodes SET lease_until = least(lease_until, now()) WHERE node = %(node)s"

# ---- runs --------------------------------------------------------------------------------------------------

_NEW_CALLS = """
    INSERT INTO codemode.calls (run_id, call_id, idempotent, held_by, asking)
    SELECT written.run_id, new.call_id, new.idempotent, CASE WHEN new.is_held THEN %(node)s END, new.asking
    FROM written, unnest(%(call_ids)s::text[], %(idempotent)s::boolean[], %(is_held)s::boolean[],
        %(asking)s::text[]) AS new (call_id, idempotent, is_held, asking)"""
_INSERT_RUN = f"""
    INSERT INTO codemode.runs (run_id, agent, session, agent_run, tool_call, build_id, created_at_ms,
        expires_at_ms, expires_at, size_bytes, state, delta, answer)
    SELECT %(run_id)s, %(agent)s, %(session)s, %(agent_run)s, %(tool_call)s, %(build_id)s, %(created_at_ms)s,
        %(expires_at_ms)s, now() + %(ttl_ms)s {_MS}, %(size_bytes)s, %(state)s, %(delta)s, %(answer)s
    WHERE NOT EXISTS (SELECT FROM codemode.endings WHERE run_id = %(run_id)s AND until > now())
    ON CONFLICT (run_id) DO NOTHING RETURNING run_id"""
SAVE_NEW = f"WITH written AS ({_INSERT_RUN}) SELECT {_RELAXED} FROM written"
SAVE_NEW_WITH_CALLS = (
    f"WITH written AS ({_INSERT_RUN}), called AS ({_NEW_CALLS}) SELECT {_RELAXED} FROM written"
)
# The first number is what the run had; the second tells whether it was written, or had no room.
SAVE_CLAIMED = f"""
WITH held AS MATERIALIZED (
    SELECT run_id, size_bytes FROM codemode.runs
    WHERE run_id = %(run_id)s AND claimed_by = %(claimer)s AND claim = %(number)s AND {_SCOPE}
        AND tool_call = %(tool_call)s AND {_LIVES.format(node="%(claimer)s")}),
written AS (
    UPDATE codemode.runs r SET build_id = %(build_id)s, created_at_ms = %(created_at_ms)s,
        expires_at_ms = %(expires_at_ms)s, expires_at = now() + %(ttl_ms)s {_MS}, size_bytes = %(size_bytes)s,
        state = %(state)s, delta = %(delta)s, answer = %(answer)s, claimed_by = NULL, claimed_at = NULL,
        touched = false
    FROM held WHERE r.run_id = held.run_id AND r.claimed_by = %(claimer)s AND r.claim = %(number)s
        AND %(size_bytes)s - coalesce(held.size_bytes, 0) <= greatest(0, %(room_bytes)s)
    RETURNING r.run_id),
gone AS (
    DELETE FROM codemode.calls c USING written
    WHERE c.run_id = written.run_id AND c.call_id <> ALL(%(call_ids)s::text[]) RETURNING c.size_bytes),
called AS ({_NEW_CALLS} ON CONFLICT (run_id, call_id) DO NOTHING)
SELECT held.size_bytes, written.run_id IS NOT NULL, (SELECT coalesce(sum(size_bytes), 0)::bigint FROM gone),
    {_RELAXED} FROM held LEFT JOIN written ON true"""
LOOK = f"WITH {_ALIVE}, {_SEEN}, {_ENDED} SELECT {_RUN}, {_CALLS}, {_ENDING} {_FROM}"
CLAIM = f"""
WITH {_ALIVE}, {_SEEN}, {_ENDED},
won AS (
    UPDATE codemode.runs r SET claim = r.claim + 1, claimed_by = %(node)s, claimed_at = now(), touched = false
    FROM seen WHERE r.run_id = seen.run_id AND seen.how IS NULL AND seen.state IS NOT NULL
        AND (seen.holder IS NULL OR (seen.holder = %(node)s AND %(again)s AND NOT seen.touched))
        AND seen.build_id = ANY(%(builds)s::text[])
        AND r.claim = seen.claim AND r.claimed_by IS NOT DISTINCT FROM seen.claimed_by
        AND r.touched = seen.touched
    RETURNING r.run_id, r.claim),
taken AS (
    UPDATE codemode.calls c SET held_by = %(node)s, take = take + 1, asking = NULL
    FROM won WHERE c.run_id = won.run_id AND c.outcome IS NULL AND c.held_by NOT IN (SELECT node FROM alive)
    RETURNING c.call_id, c.take)
SELECT {_RUN}, {_CALLS}, {_ENDING}, won.claim, CASE WHEN won.claim IS NOT NULL THEN seen.delta END,
    CASE WHEN won.claim IS NOT NULL THEN calls.outcomes END, (SELECT array_agg(call_id) FROM taken),
    (SELECT array_agg(take) FROM taken), {_RELAXED}
{_FROM} LEFT JOIN won ON true"""
TOUCH = f"UPDATE codemode.runs SET touched = true WHERE {_CLAIMED} RETURNING 1"
COLLECT = f"""
SELECT call_id, take, outcome FROM codemode.calls
WHERE run_id = (SELECT run_id FROM codemode.runs WHERE {_CLAIMED}) AND call_id = ANY(%(call_ids)s::text[])
    AND settled IS NOT NULL ORDER BY settled"""
_FORGET_REQUEST = """DELETE FROM codemode.requests q USING gone
    WHERE q.agent = gone.agent AND q.session = gone.session AND q.agent_run = gone.agent_run
        AND q.request_id = gone.request_id"""
RELEASE = f"""
WITH freed AS (
    UPDATE codemode.runs SET claimed_by = NULL, claimed_at = NULL, touched = false
    WHERE {_CLAIMED} AND state IS NOT NULL RETURNING run_id),
gone AS (DELETE FROM codemode.runs WHERE {_CLAIMED} AND state IS NULL RETURNING *),
forgotten AS ({_FORGET_REQUEST})
SELECT {_RELAXED} FROM freed UNION ALL SELECT {_RELAXED} FROM gone"""
_KEEP = """
    INSERT INTO codemode.endings (run_id, agent, session, agent_run, tool_call, request_id, digest, how,
        result, until)
    SELECT gone.run_id, gone.agent, gone.session, gone.agent_run, gone.tool_call, gone.request_id,
        gone.digest, {how}, {result}, now() + %(keep_ms)s * interval '1 millisecond'
    FROM gone WHERE {condition} ON CONFLICT (run_id) DO UPDATE SET agent = excluded.agent,
        session = excluded.session, agent_run = excluded.agent_run, tool_call = excluded.tool_call,
        request_id = excluded.request_id, digest = excluded.digest, how = excluded.how,
        result = excluded.result, at = excluded.at, until = excluded.until"""
_FINISH = (
    """
WITH gone AS (
    DELETE FROM codemode.runs r WHERE {condition}
    RETURNING r.run_id, r.agent, r.session, r.agent_run, r.tool_call, r.request_id, r.digest, r.size_bytes),
kept AS ("""
    + _KEEP.format(how="%(how)s", result="%(result)s::bytea", condition="%(keep_ms)s > 0")
    + f"""),
forgotten AS ({_FORGET_REQUEST} AND %(keep_ms)s <= 0)
SELECT gone.size_bytes, (SELECT coalesce(sum(size_bytes), 0)::bigint FROM codemode.calls
    WHERE run_id = gone.run_id){{relaxed}} FROM gone"""
)
FINISH_CLAIMED = _FINISH.format(condition=_CLAIMED, relaxed=f", {_RELAXED}")
FINISH = _FINISH.format(condition=f"run_id = %(run_id)s AND {_SCOPE}", relaxed="")

# ---- requests that may be sent twice -----------------------------------------------------------------------

_REQUEST = f"{_SCOPE} AND request_id = %(request_id)s"
RESERVE = f"""
WITH first AS (
    INSERT INTO codemode.requests (agent, session, agent_run, request_id, run_id)
    VALUES (%(agent)s, %(session)s, %(agent_run)s, %(request_id)s, %(run_id)s)
    ON CONFLICT DO NOTHING RETURNING run_id),
made AS (
    INSERT INTO codemode.runs (run_id, agent, session, agent_run, tool_call, build_id, created_at_ms,
        expires_at_ms, expires_at, claim, claimed_by, claimed_at, request_id, digest)
    SELECT first.run_id, %(agent)s, %(session)s, %(agent_run)s, %(tool_call)s, %(build_id)s,
        (extract(epoch FROM now()) * 1000)::bigint, (extract(epoch FROM now()) * 1000)::bigint + %(ttl_ms)s,
        now() + %(ttl_ms)s {_MS}, 1, %(node)s, now(), %(request_id)s, %(digest)s FROM first
    RETURNING run_id)
SELECT {_RELAXED} FROM made"""
# One that its node left, by its death, before anything was done for it.
RESERVE_LEFT = f"""
WITH {_ALIVE}
UPDATE codemode.runs r SET claim = r.claim + 1, claimed_by = %(node)s, claimed_at = now()
WHERE {_REQUEST} AND run_id = (SELECT run_id FROM codemode.requests WHERE {_REQUEST})
    AND state IS NULL AND NOT touched AND expires_at > now()
    AND (claimed_by NOT IN (SELECT node FROM alive) OR (claimed_by = %(node)s AND run_id = %(run_id)s))
    AND claim = (SELECT seen.claim FROM codemode.runs seen WHERE seen.run_id = r.run_id)
RETURNING run_id, claim"""
REQUESTED = f"SELECT run_id FROM codemode.requests WHERE {_REQUEST}"
FORGET_REQUEST = f"""
DELETE FROM codemode.requests q WHERE {_REQUEST}
    AND NOT EXISTS (SELECT FROM codemode.runs WHERE run_id = q.run_id)
    AND NOT EXISTS (SELECT FROM codemode.endings WHERE run_id = q.run_id AND until > now())"""

# ---- calls -------------------------------------------------------------------------------------------------

SETTLE = f"""
UPDATE codemode.calls SET outcome = %(outcome)s, settled = nextval('codemode.settled'), asking = NULL
WHERE {_HELD} RETURNING {_RELAXED}"""
ASK = f"""
WITH held AS (SELECT size_bytes FROM codemode.calls WHERE {_HELD})
UPDATE codemode.calls c SET asking = %(approval_id)s, request = %(request)s, decision = NULL, decided = NULL,
    held_by = CASE WHEN %(is_held)s THEN c.held_by END
FROM held WHERE {_HELD} RETURNING c.size_bytes - held.size_bytes, {_RELAXED}"""
DECIDE = f"""
WITH {_ALIVE}, {_SEEN}, {_ENDED},
decided AS (
    UPDATE codemode.calls c SET decision = %(decision)s, decided = %(approval_id)s, asking = NULL,
        take = CASE WHEN c.held_by IN (SELECT node FROM alive) THEN c.take ELSE c.take + 1 END,
        held_by = CASE WHEN c.held_by IN (SELECT node FROM alive) THEN c.held_by ELSE %(node)s END
    FROM seen, codemode.calls before
    WHERE c.run_id = seen.run_id AND seen.how IS NULL AND c.outcome IS NULL
        AND (c.asking = %(approval_id)s
            OR (%(again)s AND c.decided = %(approval_id)s AND c.held_by = %(node)s))
        AND before.run_id = c.run_id AND before.call_id = c.call_id
    RETURNING c.call_id, c.held_by, c.take,
        before.asking IS NOT NULL AND before.held_by IN (SELECT node FROM alive) AS ran,
        c.size_bytes - before.size_bytes AS grown)
SELECT {_RUN}, {_CALLS}, decided.call_id, decided.held_by, decided.take, coalesce(decided.ran, false),
    decided.grown
FROM decided, seen {_JOIN_CALLS} LIMIT 1"""
ANSWERS = """
SELECT call_id, decision FROM codemode.calls
WHERE run_id = %(run_id)s AND held_by = %(node)s AND outcome IS NULL AND decision IS NOT NULL
ORDER BY call_id"""
# What a node does not know to have: it asked, and the line was cut before the answer.
GIVE_BACK_CLAIMS = """
UPDATE codemode.runs SET claimed_by = NULL, claimed_at = NULL
WHERE run_id = ANY(%(run_ids)s::text[]) AND claimed_by = %(node)s AND NOT touched RETURNING run_id"""
GIVE_BACK_DECISIONS = """
UPDATE codemode.calls c SET asking = c.decided, decided = NULL, decision = NULL, held_by = NULL,
    take = take + 1
FROM unnest(%(run_ids)s::text[], %(approval_ids)s::text[]) AS asked (run_id, approval_id)
WHERE c.run_id = asked.run_id AND c.decided = asked.approval_id AND c.held_by = %(node)s AND c.outcome IS NULL
RETURNING c.run_id"""

# ---- upkeep ------------------------------------------------------------------------------------------------

# SKIP LOCKED: of several nodes that expire at once, none waits for another. What was judged is compared with
# the row that is locked: a node that joined after the judgement may have claimed the run meanwhile.
EXPIRE = f"""
WITH {_ALIVE},
seen AS MATERIALIZED (
    SELECT r.run_id, r.claim, r.claimed_by, r.touched, r.expires_at, {_HOW} AS how FROM codemode.runs r
    WHERE r.run_id IN (
            SELECT run_id FROM codemode.runs WHERE expires_at <= now()
            UNION ALL SELECT run_id FROM codemode.runs
                WHERE claimed_by IS NOT NULL AND claimed_by NOT IN (SELECT node FROM alive))
        AND ({_HOW} IS NOT NULL OR (r.state IS NULL AND {_IS_DEAD}))
    LIMIT %(most)s),
due AS (
    SELECT r.run_id, seen.how FROM codemode.runs r JOIN seen ON r.run_id = seen.run_id
        AND r.claim = seen.claim AND r.claimed_by IS NOT DISTINCT FROM seen.claimed_by
        AND r.touched = seen.touched AND r.expires_at = seen.expires_at
    FOR UPDATE OF r SKIP LOCKED),
sizes AS (
    SELECT c.run_id, sum(c.size_bytes)::bigint AS bytes FROM codemode.calls c JOIN due USING (run_id)
    GROUP BY 1),
gone AS (DELETE FROM codemode.runs r USING due WHERE r.run_id = due.run_id RETURNING r.*, due.how),
forgotten AS ({_FORGET_REQUEST} AND gone.how IS NULL),
kept AS ({_KEEP.format(how="gone.how", result="NULL", condition="gone.how IS NOT NULL")})
SELECT gone.run_id, gone.agent, gone.session, gone.agent_run, gone.tool_call, gone.how,
    (extract(epoch FROM now()) * 1000)::bigint, gone.digest, gone.size_bytes, coalesce(sizes.bytes, 0),
    {_RELAXED} FROM gone LEFT JOIN sizes USING (run_id)"""
# Endings past their time, and the oldest of those that are more, or larger, than is kept.
DROP_ENDINGS = f"""
WITH young AS MATERIALIZED (
    SELECT run_id, at, octet_length(result) AS bytes FROM codemode.endings
    ORDER BY at DESC LIMIT %(most)s + 1),
ranked AS (
    SELECT at, row_number() OVER (ORDER BY at DESC, run_id) AS place,
        sum(bytes) OVER (ORDER BY at DESC, run_id) AS bytes FROM young),
last AS (SELECT max(at) AS at FROM ranked WHERE place > %(most)s OR bytes > %(bytes)s),
gone AS (
    DELETE FROM codemode.endings e USING last WHERE e.until <= now() OR e.at <= last.at
    RETURNING e.run_id, e.agent, e.session, e.agent_run, e.request_id),
forgotten AS ({_FORGET_REQUEST})
SELECT count(*), {_RELAXED} FROM gone"""
DROP_NODES = "DELETE FROM codemode.nodes WHERE lease_until < now() - interval '1 hour'"
NUMBERS = "SELECT run_id, claim FROM codemode.runs WHERE run_id = ANY(%(run_ids)s::text[])"
LIST = """
SELECT r.run_id, r.agent, r.session, r.agent_run, r.tool_call, r.build_id, r.created_at_ms, r.expires_at_ms,
    r.size_bytes + coalesce(calls.bytes, 0), r.claim, alive.node, coalesce(calls.settled, 0),
    coalesce(calls.asking, 0)
FROM codemode.runs r LEFT JOIN codemode.nodes alive ON alive.node = r.claimed_by AND alive.lease_until > now()
LEFT JOIN LATERAL (SELECT sum(c.size_bytes)::bigint AS bytes, count(c.settled) AS settled,
        count(c.asking) FILTER (WHERE c.settled IS NULL) AS asking
    FROM codemode.calls c WHERE c.run_id = r.run_id) calls ON true
WHERE r.state IS NOT NULL{conditions} ORDER BY r.created_at_ms, r.run_id"""
# Every ten seconds one of all nodes counts, by an index alone.
COUNT = f"""
WITH due AS MATERIALIZED (
    SELECT one FROM codemode.totals WHERE counted_at < now() - interval '10 seconds' FOR UPDATE SKIP LOCKED),
runs AS (SELECT count(size_bytes) AS runs, coalesce(sum(size_bytes), 0) AS bytes FROM codemode.runs),
calls AS (SELECT coalesce(sum(size_bytes), 0) AS bytes FROM codemode.calls),
counted AS (
    UPDATE codemode.totals t SET runs = runs.runs, bytes = runs.bytes + calls.bytes, counted_at = now()
    FROM due, runs, calls WHERE t.one = due.one RETURNING t.runs, t.bytes)
SELECT coalesce(counted.runs, t.runs), coalesce(counted.bytes, t.bytes), {_RELAXED}
FROM codemode.totals t LEFT JOIN counted ON true"""
