"""A short slice of each fuzzer with a fixed seed, what they found before, and that they would find more."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from random import Random

import pytest
from codemode_runtime import parts
from codemode_runtime.compile import prepare
from codemode_runtime.frames import Frame, FrameReader
from codemode_snapshots.sqlite_records import RecordReader
from msgspec import MsgspecError

from codemode import failures
from codemode.config.rules import Number
from codemode.declarations import declarations
from codemode.executor import schema_check
from codemode.mcp import intake
from codemode.serve.json_rpc import messages as rpc_messages
from tests.fuzz.runner import Subject, fuzz, fuzzer_of, replay, save
from tests.fuzz.subjects import DECODERS, FUZZERS
from tests.harness.guests import load_machine
from tests.harness.processes import python
from tests.harness.runner import runner_functions

REGRESSIONS = sorted((Path(__file__).parent / "regressions").iterdir())
SECONDS = 12.0  # at most; a machine with nothing else to do needs a few
TRIES = {
    "frames": 600,
    "gate": 600,
    "envelopes": 4000,
    "config": 1500,
    "rpc": 3000,
    "declarations": 150,
    "mcp-messages": 600,
    "schemas": 600,
    "store-files": 60,
    "deltas": 60,
    "native": 1500,
    "typescript": 60,
    "guest-suspension": 20,
    "engine-suspension": 8,
    "programs": 30,
    "rogue-workers": 60,
    "worker-orders": 50,
    "rpc-server": 60,
}


@pytest.fixture(scope="module", autouse=True)
def machine() -> None:
    """Compiled code stays mapped for the rest of the process: nobody left it behind. What is built only once
    takes longer than a slice."""
    load_machine()
    prepare("enum E {}", "typescript")
    with runner_functions(sanitized=True):
        pass


@pytest.mark.parametrize("name", FUZZERS)
@pytest.mark.usefixtures("leaves_nothing")
def test_a_slice_of_the_fuzzer_finds_nothing(name: str) -> None:
    report = fuzz(name, FUZZERS[name], seed=1, seconds=SECONDS, tries=TRIES[name])
    assert [complaint for _, complaint in report.failures] == []
    assert report.tried > 0
    assert report.growth < 64 << 20


@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda path: path.name)
@pytest.mark.usefixtures("leaves_nothing")
def test_what_was_found_once_stays_mended(path: Path) -> None:
    replay(FUZZERS[fuzzer_of(path)], path.read_bytes())


@pytest.mark.parametrize("name", DECODERS)
def test_the_same_seed_makes_the_same_inputs(name: str) -> None:
    made: list[list[bytes]] = []
    for _ in range(2):
        with DECODERS[name]() as subject:
            dice = Random(7)
            made.append([subject.make(dice) for _ in range(50)])
    assert made[0] == made[1]
    assert len(set(made[0])) > 10


@pytest.mark.parametrize(
    "name",
    [
        *("frames", "gate", "envelopes", "config", "rpc", "declarations", "mcp-messages", "schemas"),
        *("store-files", "programs"),
    ],
)
def test_a_planted_defect_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(name, monkeypatch)
    report = fuzz(name, FUZZERS[name], seed=1, seconds=40, most_failures=1)
    assert len(report.failures) == 1


def plant(name: str, patch: pytest.MonkeyPatch) -> None:
    """Takes away one check that the fuzzer's subject lives by."""

    def returns(value: object) -> Callable[..., object]:
        return lambda *_: value

    match name:
        case "frames":
            patch.setattr(FrameReader, "feed", _forgetful(FrameReader.feed))
        case "gate":
            patch.setattr(parts, "_quick_count", returns(1))
            patch.setattr(parts, "_ROUGH", 10)
        case "envelopes":
            patch.setattr("hmac.compare_digest", returns(True))
        case "config":
            patch.setattr(Number, "read", returns(-1))
        case "rpc":
            patch.setattr(rpc_messages, "_TROUBLE", (MsgspecError,))
        case "declarations":
            patch.setattr(declarations, "comment", "{1}/** {0} */\n".format)
        case "mcp-messages":
            patch.setattr(intake, "MAX_UNASKED_BYTES", 1 << 30)
            patch.setattr(intake, "most_parts", returns(1))
        case "schemas":
            patch.setattr(schema_check, "_SAFE", _Everything())
        case "store-files":
            patch.setattr(RecordReader, "_checked", returns(nullcontext()))
        case _:
            patch.setattr(failures, "explain_timeout", returns(None))


class _Everything:
    def __contains__(self, _: object) -> bool:
        return True


def _forgetful(feed: Callable[..., list[Frame]]) -> Callable[..., list[Frame]]:
    """A reader that gives out one frame of each chunk."""

    def first_only(*given: object) -> list[Frame]:
        return feed(*given)[:1]

    return first_only


class Brittle:
    """Fails for every input that begins with a high byte."""

    def make(self, dice: Random) -> bytes:
        return dice.randbytes(4)

    def check(self, data: bytes) -> None:
        assert data[0] < 250, "planted"


@contextmanager
def brittle() -> Generator[Subject]:
    yield Brittle()


def test_a_failing_input_is_found_saved_and_fails_again_when_it_is_replayed(tmp_path: Path) -> None:
    saved: list[Path] = []
    report = fuzz(
        "brittle",
        brittle,
        seed=1,
        seconds=30,
        tries=2000,
        folder=tmp_path,
        on_failure=lambda data, complaint: saved.append(save(tmp_path, "brittle", data, complaint)),
    )
    assert len(report.failures) == 10  # then it is enough
    assert "planted" in report.failures[0][1]
    assert fuzzer_of(saved[0]) == "brittle"
    with pytest.raises(AssertionError, match="planted"):
        replay(brittle, saved[0].read_bytes())
    assert not (tmp_path / "brittle.last").exists()


def test_the_entry_point_prints_what_was_tried_and_ends_with_0_if_nothing_failed() -> None:
    done = _run("frames", "envelopes", "--seconds", "0.5", "--seed", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    seed, *lines = done.stdout.splitlines()
    assert seed == "seed 3"
    assert [line.partition(":")[0] for line in lines] == ["frames", "envelopes"]
    assert all(", 0 failures, " in line for line in lines)


def test_an_unknown_fuzzer_is_named_with_those_that_there_are() -> None:
    done = _run("framse")
    assert done.returncode == 2
    assert done.stderr.strip() == f"no fuzzer named framse; there are: {', '.join(FUZZERS)}"


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "tests.fuzz", *arguments)
