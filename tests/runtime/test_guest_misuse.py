"""TypeErrors that tell a shape, in the guest: bounded, no code of the program runs, nothing is kept alive."""

# ruff: noqa: E501 - programs are data and read best unwrapped

import pytest
from codemode_runtime.shapes import Limits

from tests.harness.guests import always, echo, run

TELL = "try { GO } catch (e) { return e.message }"


def told(program: str) -> str:
    return run(TELL.replace("GO", program)).value


@pytest.mark.parametrize(
    "program",
    [
        "const o = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => ['key' + i, i])); o.map()",
        "const o = { ['k'.repeat(1e6)]: 1 }; o.map()",
        "const o = { ['é'.repeat(1000)]: 1, ['😀'.repeat(1000)]: 1 }; o.map()",
        "const o = { a: 1 }; o['x'.repeat(1e6)]()",
        "const list = [Object.fromEntries(Array.from({ length: 99 }, (_, i) => ['é'.repeat(30) + i, i]))]; list.go()",
        "const o = Object.fromEntries(Array.from({ length: 99 }, (_, i) => ['é'.repeat(30) + i, i])); o.y.z",
        "const o = Object.fromEntries(Array.from({ length: 99 }, (_, i) => ['é'.repeat(30) + i, i])); [...o]",
    ],
)
@pytest.mark.guarantee("type-errors-tell-the-shape")
def test_the_message_has_at_most_300_bytes_whatever_the_value_is(program: str) -> None:
    assert 40 < len(told(program).encode()) <= 300


def test_keys_that_do_not_fit_are_counted() -> None:
    message = told("const o = Object.fromEntries(Array.from({ length: 20 }, (_, i) => ['k' + i, i])); o.go()")

    assert message == (
        "not a function: `o` is an object with keys k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11 and 8 more; "
        "`go` is not one of them"
    )


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("const o = {}; o.go()", "not a function: `o` is an object without keys; `go` is not one of them"),
        ("const o = { get a() { throw new Error('ran') } }; o.go()", "not a function: `o` is an object with key a; `go` is not one of them"),
        ("const o = new Proxy({}, {}); o.go()", "not a function"),
        ("const o = new Map(); o.go()", "not a function"),
        ("const o = { 'a\\nb': 1 }; o.go()", "not a function: `o` is an object with key a b; `go` is not one of them"),
        ("Object.prototype.inherited = 1; const o = { a: 1 }; o.go()", "not a function: `o` is an object with key a; `go` is not one of them"),
        ("const o = { a: 1 }; o.b?.c.d; o.go()", "not a function: `o` is an object with key a; `go` is not one of them"),
        ("let x; const o = {}; o.far; [1, 2, 3].map(String).join('-').split('-').length; x.y", "cannot read property 'y' of undefined"),
        ("const go = undefined; go()", "not a function"),
        ("tools.nope()", "not a function"),
        ("null.x", "cannot read property 'x' of null"),
        ("(5).go()", "not a function: it was called on a number"),
        ("const s = 'x'; s.go()", "not a function: `s` is a string of 1 character; it has no `go`"),
        ("new Set({})", "value is not iterable: it is an object without keys"),
    ],
)  # fmt: skip
def test_what_is_told_is_what_the_program_can_see_without_running_its_code(
    program: str, message: str
) -> None:
    assert told(program) == message


def test_a_value_that_missed_a_property_is_freed_when_the_guest_goes_idle() -> None:
    big = {"rows": ["x" * 1000] * 9000}
    program = """
        for (let i = 0; i < 8; i++) { const page = await tools.call('big'); if (page.missing) return 'no'; }
        return 'all'"""

    assert run(program, {"big": always(big)}, limits=Limits(memory_bytes=32 << 20)).value == "all"


def test_the_error_is_the_same_in_a_program_that_was_suspended() -> None:
    program = "const r = await tools.call('echo', { a: 1 }); " + TELL.replace("GO", "r.items.map(String)")

    straight, suspended = (run(program, {"echo": echo}, how).value for how in ("never", "every_await"))
    assert (
        straight
        == suspended
        == (
            "cannot read property 'map' of undefined: `r` is an object with key a; `items` is not one of them"
        )
    )
