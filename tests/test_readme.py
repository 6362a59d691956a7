"""The README's Python runs, and prints what the README says it prints."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parents[1] / "README.md").read_text()
# a Python block, and the output block if one follows it directly
BLOCKS = re.findall(r"^```python\n(.*?)^```\n(?:\n*```text\n(.*?)^```\n)?", README, re.MULTILINE | re.DOTALL)


def test_the_readme_has_an_example() -> None:
    assert BLOCKS


@pytest.mark.parametrize(("code", "output"), BLOCKS)
def test_a_python_block_of_the_readme_runs_and_prints_what_it_says(
    code: str, output: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == output
