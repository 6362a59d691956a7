"""The printed tree: exact for a fixed trajectory, bounded in width, and harmless whatever is in it."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from codemode.trajectory import Approval, ControlCall, NestedCall, SessionTrajectory, Trajectory
from codemode.trajectory.shapes import OutputFacts, Resumption, Suspension
from codemode.trajectory.tree import duration

HOSTILE = "\x1b[2J\r\n\x9b\u202egnp\u200b\ud800\x00é漢字"


def nested(number: int, tool: str, status: Any, start: int, end: int | None, **facts: Any) -> NestedCall:
    return NestedCall(
        id=str(number),
        tool=tool,
        name=tool.rsplit(":", 1)[-1],
        method=facts.pop("method", "call"),
        status=status,
        started_at_ms=start,
        ended_at_ms=end,
        **facts,
    )


def fixed() -> Trajectory:
    approval = Approval(id="apr_1", asked_at_ms=5200, approved=True, decided_at_ms=9000)
    return Trajectory(
        version=1,
        run_id="run_1",
        agent="main",
        session="s1",
        status="waiting",
        redaction="shape",
        started_at_ms=5000,
        calls=(
            ControlCall(
                name="exec",
                tool_kind="code_mode_exec",
                tool_input_kind="javascript",
                started_at_ms=5000,
                ended_at_ms=6000,
                status="waiting",
                reason="approval",
                input={"type": "string", "bytes": 120},
                output=OutputFacts(items=2, bytes=14),
                suspended=Suspension(bytes=2435, capture_us=310),
                calls=(
                    nested(1, "", "ok", 5001, 5002, method="search"),
                    nested(2, "mcp:github:create_issue", "error", 5100, 6000, error="mcp_error"),
                    nested(3, "openclaw:core:pay", "ok", 5200, 9500, approval=approval),
                ),
                more_calls=7,
            ),
            ControlCall(
                name="wait",
                tool_kind="code_mode_wait",
                tool_input_kind="run_id",
                started_at_ms=9600,
                status="running",
                resumed=Resumption(restore_us=230),
                calls=(nested(4, "openclaw:core:hold", "pending", 9650, None),),
            ),
        ),
        dropped_control_calls=3,
    )


GOLDEN = """\
run_1  waiting  agent main  session s1
                                                                   0                           4.7 s
exec javascript 120 B             waiting: approval          1.0 s ========
|- search                         ok                          1 ms -
|- mcp:github:create_issue        error: mcp_error          900 ms --------
|- openclaw:core:pay              ok, approved               4.3 s  -------------------------------
|- and 7 more calls
|- output: 2 items, 14 B
`- suspended in 2435 B, 310 us
(... 3 calls of wait are not kept)
wait                              running                      ...                                 >
|  restored in 230 us
`- openclaw:core:hold             pending                      ...                                 >"""

NARROW = """\
run_1  waiting  agent main  session s1
                                             0         4.7 s
exec javascript 12… waiting: appr…     1.0 s ====
|- search           ok                  1 ms -
|- mcp:github:crea… error: mcp_er…    900 ms ----
|- openclaw:core:p… ok, approved       4.3 s ---------------
|- and 7 more calls
|- output: 2 items, 14 B
`- suspended in 2435 B, 310 us
(... 3 calls of wait are not kept)
wait                running              ...               >
|  restored in 230 us
`- openclaw:core:h… pending              ...               >"""


def test_the_tree_of_a_fixed_trajectory() -> None:
    assert fixed().tree() == GOLDEN
    assert fixed().tree(60) == fixed().tree(1) == NARROW


def test_a_session_is_its_runs_one_after_the_other() -> None:
    made = SessionTrajectory(version=1, agent="main", session="s1", runs=(fixed(), fixed()))
    assert made.tree() == f"session s1  agent main  2 runs\n\n{GOLDEN}\n\n{GOLDEN}"


def test_a_run_of_which_nothing_is_known_says_so() -> None:
    made = Trajectory(
        version=1,
        run_id="run_1",
        agent="a",
        session="s",
        status="waiting",
        redaction="shape",
        is_partial=True,
    )
    assert made.tree() == "run_1  waiting  agent a  session s\n(its calls are not known any more)"


def test_values_that_the_host_recorded_are_shown_where_they_fit() -> None:
    exec_, wait = fixed().calls
    exec_ = replace(
        exec_,
        input={"type": "string", "bytes": 8, "value": "return 1"},
        output=OutputFacts(items=1, bytes=5, values=["a\x1b[31m"]),
        calls=(nested(1, "t", "ok", 5000, 5001, input={"type": "object", "bytes": 7, "value": {"a": 1}}),),
    )
    lines = replace(fixed(), calls=(exec_, wait)).tree(120).splitlines()
    assert lines[2].startswith('exec javascript 8 B "return 1"')
    assert lines[3].startswith('|- t {"a":1}')
    assert lines[5] == r'|- output: 1 items, 5 B: ["a\u001b[31m"]'


@pytest.mark.parametrize("width", [60, 89, 90, 100, 200])
def test_hostile_names_cannot_break_the_terminal_or_the_width(width: int) -> None:
    exec_, wait = fixed().calls
    calls = (
        nested(1, HOSTILE * 9, "ok", 5000, 5001, error=HOSTILE),
        nested(2, "漢" * 99, "ok", 5000, 5001),
        nested(3, "", "ok", 5000, 5001, method="search"),
    )
    exec_ = replace(
        exec_, calls=calls, reason=HOSTILE, output=OutputFacts(items=1, bytes=1, values=[HOSTILE[:4] * 99])
    )
    made = replace(fixed(), run_id=HOSTILE, session=HOSTILE, calls=(exec_, wait), code=HOSTILE)
    assert_harmless(made.tree(width), width)
    assert "\\x1b[2J\\x0d\\x0a\\x9b\\u202egnp" in replace(fixed(), run_id=HOSTILE).tree()


@given(
    st.lists(st.tuples(st.text(), st.integers(), st.none() | st.integers()), max_size=5), st.integers(0, 200)
)
def test_whatever_a_file_says_every_line_fits(rows: list[tuple[str, int, int | None]], width: int) -> None:
    exec_, wait = fixed().calls
    calls = tuple(nested(number, name, "ok", start, end) for number, (name, start, end) in enumerate(rows))
    assert_harmless(replace(fixed(), calls=(replace(exec_, calls=calls), wait)).tree(width), max(60, width))


def assert_harmless(tree: str, width: int) -> None:
    for line in tree.split("\n"):
        assert line.isprintable()
        assert sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line) <= width


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1000, "1.0 s"),
        (59_900, "59.9 s"),
        (90_000, "1.5 min"),
        (5_400_000, "1.5 h"),
        (1 << 62, "> 9999 h"),
    ],
)
def test_durations_are_short(ms: int, text: str) -> None:
    assert duration(ms) == text
