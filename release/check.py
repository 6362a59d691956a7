"""`make release-check`: builds the wheel, checks it, and uses it as a new user would on every Python here.

For each Python from 3.11 on: a clean environment, the wheel with two extras, the doctor, both acts of the
demo, and a first file edited by a program. Nothing of the clone is imported:
the examples are copied.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

from interpreters import found_pythons

PROJECT = Path(__file__).resolve().parent.parent
EXAMPLES = ("demo.py", "workspace_demo.py", "courier_server.py")
CARRIED = ("guest.wasm", "typescript.js", "codemode-runner", "THIRD_PARTY_LICENSES.txt")
EDIT = """
await tools.write({ path: "hello.py", text: "print('hello')\\n" });
await tools.edit({ path: "hello.py", old_text: "hello", new_text: "hello, world" });
return (await tools.exec({ command: "python3 hello.py" })).output;
"""


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="codemode-release-") as made:
        folder = Path(made)
        wheel = build(folder / "dist")
        check(wheel, folder)
        pythons = list(found_pythons())
        for python in pythons:
            use(wheel, python, folder / python.name)
        print(f"release-check: {wheel.name} works on {', '.join(python.name for python in pythons)}")
    return 0


def build(dist: Path) -> Path:
    say("building the wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", dist, PROJECT]
    run(command)
    (wheel,) = dist.glob("codemode-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for name in CARRIED:
        assert f"codemode_runtime/image/{name}" in names, f"the wheel has no {name}"
    assert any("/sboms/" in name for name in names), "the wheel has no SBOM"
    say(f"{wheel.name}: {wheel.stat().st_size // 1024} KiB, {len(names)} files")
    return wheel


def check(wheel: Path, folder: Path) -> None:
    """What a package index would say of it."""
    tools = folder / "tools"
    run([sys.executable, "-m", "venv", tools])
    run([tools / "bin" / "pip", "install", "--quiet", "twine"])
    run([tools / "bin" / "twine", "check", "--strict", wheel])


def use(wheel: Path, python: Path, folder: Path) -> None:
    began = time.monotonic()
    run([python, "-m", "venv", folder / "venv"])
    bin, work = folder / "venv" / "bin", folder / "work"
    run([bin / "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[mcp,web]"])
    work.mkdir()
    allowed = ["--toolbox", "coding", "--workspace", work, "--allow-command", "python3", "--json"]
    edited = run([bin / "codemode", "run", "-e", EDIT, *allowed], cwd=work)
    assert "hello, world" in edited, edited
    say(f"{python.name}: from `pip install` to an edited file in {time.monotonic() - began:.0f} s")
    run([bin / "codemode", "doctor"], cwd=work)
    for name in EXAMPLES:
        shutil.copy(PROJECT / "examples" / name, work)
    for name in EXAMPLES[:2]:
        said = run([bin / "python", name], cwd=work)
        assert "completed: " in said, said
    say(f"{python.name}: the doctor and both acts of the demo are fine")


def run(command: Sequence[str | Path], cwd: Path | None = None) -> str:
    """What it printed; leaves with its words if it failed."""
    done = subprocess.run([*map(str, command)], cwd=cwd, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"release-check: {' '.join(map(str, command))[:300]}\n{done.stdout}{done.stderr}")
    return done.stdout


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
