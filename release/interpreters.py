"""The Pythons of this machine that codemode supports."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

OLDEST, NEWEST = 11, 15


def found_pythons() -> Iterator[Path]:
    """Interpreters by name, on the PATH or beside those of pyenv; each version once."""
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for minor in range(OLDEST, NEWEST):
        name = f"python3.{minor}"
        places = [shutil.which(name), *sorted(versions.glob(f"3.{minor}.*/bin/{name}"))]
        for place in places:
            if place and _answers(Path(place)):
                yield Path(place)
                break


def _answers(python: Path) -> bool:
    """Names that lead nowhere are on some paths."""
    return subprocess.run([python, "-c", "import venv"], check=False, capture_output=True).returncode == 0
