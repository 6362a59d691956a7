"""Type-checks the Python blocks of README.md and docs/**/*.md: `make types` runs it after pyright itself.

The blocks of one page become one module, as tests/docs_page.py runs them, each at its own line of the page,
so that a complaint names the page. A page that awaits becomes the body of an async function. Blocks with
`file=NAME` become modules beside it, so that the page can import them. What a reader sees and pastes, without
the hidden blocks, is a second module and must pass as well.
"""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.docs_page import Block, read_blocks

PROJECT = Path(__file__).resolve().parents[1]
# A global of the page may stay unused; in the function around an awaiting page it is a local variable.
LENIENT = {"reportUnusedVariable": "none"}
WHOLE, SHOWN = "whole_page.py", "shown_page.py"


def main(pages: Sequence[Path]) -> int:
    problems, count = check(pages or [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))])
    print("\n".join(problems) or f"the Python blocks of {count} pages pass pyright")
    return 1 if problems else 0


def check(pages: Sequence[Path]) -> tuple[list[str], int]:
    """What pyright says about them, and how many have Python."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        homes = {
            home: page for number, page in enumerate(pages) if (home := write_page(page, folder, number))
        }
        (folder / "pyrightconfig.json").write_text(json.dumps(settings()))
        command = [sys.executable, "-m", "pyright", "--outputjson", "--project", name]
        # our own interpreter, and a folder of our own
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        found = json.loads(done.stdout)["generalDiagnostics"]
        # a mistake that a reader sees is in both modules of its page, and is told once
        return list(dict.fromkeys(describe(one, folder, homes) for one in found)), len(homes)


def write_page(page: Path, folder: Path, number: int) -> str | None:
    """Writes its modules into a folder of their own; None if the page has no Python."""
    blocks = [block for block in read_blocks(page.read_text()) if block.kind == "python"]
    if not blocks:
        return None
    home = folder / f"page_{number}"
    home.mkdir()
    for block in blocks:
        if block.file is not None:
            (home / block.file).write_text(block.code)
    run = [block for block in blocks if block.file is None]
    (home / WHOLE).write_text(module_of(run))
    (home / SHOWN).write_text(module_of([block for block in run if not block.hidden]))
    return home.name


def module_of(blocks: Sequence[Block]) -> str:
    """One module; line N of it is line N of the page."""
    is_async = any(awaits(block.code) for block in blocks)
    lines = ["async def page() -> None:" if is_async else ""]
    for block in blocks:
        lines += [""] * (block.line - 1 - len(lines))
        lines += (textwrap.indent(block.code, "    ") if is_async else block.code).splitlines()
    return "\n".join(lines) + "\n"


def awaits(code: str) -> bool:
    """Whether it needs an event loop: it has an `await` outside of its own functions."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    compiled = compile(code, "page", "exec", flags=flags, dont_inherit=True)
    return bool(compiled.co_flags & inspect.CO_COROUTINE)


def settings() -> dict[str, Any]:
    """The project's own, with its folders where they are."""
    own = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["pyright"]
    paths = [str(PROJECT / path) for path in (".", *own["extraPaths"])]
    return {**own, "include": ["."], "extraPaths": paths, "venvPath": str(PROJECT), **LENIENT}


def describe(found: dict[str, Any], folder: Path, homes: dict[str, Path]) -> str:
    file = Path(found["file"]).resolve().relative_to(folder)
    page = homes[file.parts[0]]
    shown = page.relative_to(PROJECT) if page.is_relative_to(PROJECT) else page
    where = shown if file.name in (WHOLE, SHOWN) else f"{shown} ({file.name})"
    return (
        f"{where}:{found['range']['start']['line'] + 1}: {found['message']} ({found.get('rule', 'syntax')})"
    )


if __name__ == "__main__":
    sys.exit(main([Path(page).resolve() for page in sys.argv[1:]]))
