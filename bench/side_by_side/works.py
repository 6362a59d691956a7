"""The work: what each subject is asked to do, and for how long. Pure data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bench.side_by_side import programs
from bench.side_by_side.programs import Program

LIMIT_MS = 100
OFTEN = 15  # single-use workers are replaced between samples: there would be few in a short time


@dataclass(frozen=True, slots=True)
class Pace:
    """How long one subject does one work in one round: about `seconds`, longer if the work wants more samples
    (of which up to `least` are granted), but not beyond `at_most_seconds` if it can be helped."""

    rounds: int
    seconds: float
    least: int
    at_most_seconds: float
    cold_starts: int = 1
    is_quick: bool = False


FULL = Pace(rounds=4, seconds=0.12, least=15, at_most_seconds=1.5, cold_starts=3)
QUICK = Pace(rounds=2, seconds=0.03, least=4, at_most_seconds=0.8, is_quick=True)


@dataclass(frozen=True, slots=True)
class Work:
    """`weight` scales the time given to it, `least` is how many samples there must be in a round. A heavy one
    is done once in a quick run, a long one not at all."""

    key: str
    verb: str
    program: Program
    weight: float = 1.0
    least: int = 3
    warm_up: bool = True
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    is_heavy: bool = False
    is_long: bool = False

    def request(self, language: str, pace: Pace) -> dict[str, Any] | None:
        """None if the program cannot be said in the subject's language."""
        text = self.program.text_for(language)
        if text is None:
            return None
        hurried = pace.is_quick and self.is_heavy
        return {
            "verb": self.verb,
            "program": text,
            "expect": self.program.answer_in(language),
            "language": self.program.language,
            "seconds": pace.seconds * self.weight,
            "least": 1 if hurried else min(self.least, pace.least),
            "at_most_seconds": pace.at_most_seconds,
            "warm_up": self.warm_up and not hurried,
            **self.extra,
        }


def _crowd(callers: int) -> Work:
    return Work(
        f"crowd {callers}",
        "crowd",
        programs.ONE_CALL,
        weight=2,
        extra={"callers": callers},
        is_heavy=callers > 1,
    )


WORKS = (
    Work("warm", "run", programs.ONE_PLUS_ONE, least=OFTEN),
    Work("one", "run", programs.ONE_CALL, least=OFTEN),
    Work("seq100", "run", programs.sequential(100), is_heavy=True),
    Work("par16", "run", programs.PARALLEL, least=OFTEN),
    Work("typescript", "run", programs.TYPESCRIPT, least=OFTEN),
    Work("typescript enum", "run", programs.TYPESCRIPT_ENUM),
    Work("hold tiny", "hold", programs.HOLD_TINY, least=OFTEN),
    Work("hold rows 1 MB", "hold", programs.hold_rows(13_000), is_heavy=True),
    Work("hold text 1 MB", "hold", programs.hold_text(1024), is_heavy=True),
    Work("hold rows 8 MB", "hold", programs.hold_rows(104_000), least=2, warm_up=False, is_long=True),
    Work("hold text 8 MB", "hold", programs.hold_text(8192), least=2, warm_up=False, is_long=True),
    *(Work(f"cpu {name}", "run", program, is_heavy=True) for name, program in programs.KERNELS.items()),
    Work("limit", "limit", programs.ENDLESS, warm_up=False, is_heavy=True, extra={"limit_ms": LIMIT_MS}),
    *(_crowd(callers) for callers in (1, 2, 8, 32)),
)

FLOORS = (
    Work("copy 1 MB", "run", Program("copy 1048576", None, None)),
    Work("copy 8 MB", "run", Program("copy 8388608", None, None)),
    Work("pipe", "run", Program("pipe", None, None)),
    Work("fork", "run", Program("fork", None, None)),
)
COLD = Work("cold", "run", programs.ONE_PLUS_ONE, warm_up=False, least=1)


def works_of(pace: Pace, round_number: int) -> list[Work]:
    everything = (*FLOORS, *WORKS)
    if not pace.is_quick:
        return list(everything)
    return [work for work in everything if not work.is_long and not (work.is_heavy and round_number > 0)]
