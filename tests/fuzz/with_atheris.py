"""The same decoders, guided by coverage: atheris (libFuzzer) goes on from inputs that reach new lines.

    python -m tests.fuzz.with_atheris [NAME …] --seconds N --seed S

atheris is no dependency of the project: it is installed into a folder of its own (.cache/atheris) at the
first run. A failing input is saved beside those of the other runs, and replayed in the same way.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

from tests.fuzz.runner import FOUND

HOME = Path(__file__).resolve().parents[2] / ".cache" / "atheris"
_SEEDS = 300  # inputs to begin with
_NAMES = ("frames", "envelopes", "config", "rpc", "declarations")
_INSTRUMENTED = ("codemode", "codemode_runtime", "codemode_snapshots")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", nargs="*", metavar="NAME", help=", ".join(_NAMES))
    options.add_argument("--seconds", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--corpus", type=Path, help=argparse.SUPPRESS)  # for the process that it is done in
    given = options.parse_args()
    if given.corpus is not None:
        _fuzz(given.names[0], given.seconds, given.seed, given.corpus)
    if not (HOME / "atheris").is_dir() and not _install():
        print("atheris has no wheel for this Python: use python -m tests.fuzz", file=sys.stderr)
        return 2
    failed = 0
    for name in given.names or _NAMES:
        print(f"== {name}", flush=True)
        with tempfile.TemporaryDirectory() as folder:  # libFuzzer ends its process without cleaning up
            again = [sys.executable, "-m", "tests.fuzz.with_atheris", name, "--corpus", f"{folder}/corpus"]
            again += ["--seconds", str(given.seconds), "--seed", str(given.seed)]
            done = subprocess.run(again, env=os.environ | {"TMPDIR": folder}, check=False)
        failed += done.returncode != 0
    return 1 if failed else 0


def _install() -> bool:
    """As a wheel or not at all: building it needs clang."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:"]
    return subprocess.run([*command, "--target", str(HOME), "atheris"], check=False).returncode == 0


def _fuzz(name: str, seconds: int, seed: int, corpus: Path) -> None:
    """Never returns: libFuzzer ends the process, with a status that is not 0 if it found something."""
    sys.path.insert(0, str(HOME))
    import atheris  # pyright: ignore - only there once it was installed

    with atheris.instrument_imports(include=list(_INSTRUMENTED)):  # pyright: ignore
        from tests.fuzz.subjects import DECODERS
    FOUND.mkdir(exist_ok=True)
    corpus.mkdir()
    dice = Random(seed)
    with DECODERS[name]() as subject:
        for number in range(_SEEDS):
            (corpus / str(number)).write_bytes(subject.make(dice))
        options = [f"-max_total_time={seconds}", f"-seed={seed}", "-max_len=20000", "-timeout=20"]
        options += ["-print_final_stats=1", "-verbosity=0", f"-artifact_prefix={FOUND}/{name}."]
        atheris.Setup([name, *options, str(corpus)], subject.check)  # pyright: ignore
        atheris.Fuzz()  # pyright: ignore


if __name__ == "__main__":
    sys.exit(main())
