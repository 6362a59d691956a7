"""`make pythons`: the test suite, or a part of it, on every supported Python that is here, but for our own.

Each has an environment in .cache/pythons, which is made once and used again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from interpreters import found_pythons

PROJECT = Path(__file__).resolve().parent.parent


def main(arguments: list[str]) -> int:
    own = f"python3.{sys.version_info.minor}"
    failed = [
        python.name for python in found_pythons() if python.name != own and not passes(python, arguments)
    ]
    print(f"failed on {', '.join(failed)}" if failed else "passed on every other Python that is here")
    return 1 if failed else 0


def passes(python: Path, arguments: list[str]) -> bool:
    print(f"== {python.name}", flush=True)
    folder = PROJECT / ".cache" / "pythons" / python.name
    own = folder / "bin" / "python"
    if not (folder / "ready").exists():
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([own, "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1"], check=True)
        install = [own, "-m", "pip", "install", "--quiet", "--editable", PROJECT, "--group", "dev"]
        subprocess.run(install, check=True, cwd=PROJECT)
        (folder / "ready").touch()
    jobs = os.environ.get("JOBS", "2")
    suite = [own, "-m", "pytest", "--quiet", "--numprocesses", jobs, *arguments]
    return subprocess.run(suite, check=False, cwd=PROJECT).returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
