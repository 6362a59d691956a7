"""Runs the code of one Markdown page: `python -W error docs_page.py PAGE`, in a scratch directory.

    python      runs, in one namespace for the page; a bare `await` is fine, as in `python -m asyncio`
    python file=NAME   is written to NAME instead
    js, ts      run as programs in the page's `engine`, or in one without tools
    console     lines `$ .venv/bin/…` run; other commands are for the reader
    text, json  directly after one of these is what it must print; `…` stands for anything in a line
    <!--python … -->   runs like a python block and is not shown

Everything else (`text`, `json` on their own, `toml`, …) only shows a shape.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codemode import Engine
from codemode.contract.results import CodeModeResult

_BLOCK = re.compile(
    r"^```(?P<kind>[a-z]+)(?: file=(?P<file>\S+))?\n(?P<code>.*?)^```$|^<!--python\n(?P<hidden>.*?)^-->$",
    re.MULTILINE | re.DOTALL,
)
_PRINTED = re.compile(r"\n\s*```(?:text|json)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_RUN = ("python", "js", "ts", "console")
_LANGUAGES = {"js": "javascript", "ts": "typescript"}
_MAX_LEGS = 50


@dataclass(frozen=True)
class Block:
    kind: str
    code: str
    line: int  # of the page, where the code starts
    file: str | None = None
    printed: str | None = None
    hidden: bool = False


def read_blocks(text: str) -> list[Block]:
    return list(_read(text))


def _read(text: str) -> Iterator[Block]:
    for found in _BLOCK.finditer(text):
        hidden = found["hidden"]
        if hidden is None and found["kind"] not in _RUN:
            continue
        code = found["code"] if hidden is None else hidden
        line = text.count("\n", 0, found.start()) + 2
        after = _PRINTED.match(text, found.end())
        kind = found["kind"] if hidden is None else "python"
        printed = after[1] if after and kind != "console" else None
        yield Block(kind, code, line, found["file"], printed, hidden is not None)


class Page:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.loop = asyncio.Runner()

    def run(self) -> None:
        _offer_commands(Path.cwd())
        sys.path.insert(0, "")  # files of the page can be imported, as in a shell
        with self.loop:
            try:
                for block in read_blocks(self.path.read_text()):
                    self._run(block)
            finally:
                self.loop.run(self._close())

    def _run(self, block: Block) -> None:
        match block:
            case Block(file=str() as name):
                Path(name).write_text(block.code)
            case Block(kind="python"):
                self._compare(block, block.printed, self._python(block))
            case Block(kind="console"):
                for command, printed in _commands(block.code):
                    self._compare(block, printed, self._command(block, command, printed))
            case _:
                self._compare(block, block.printed, self.loop.run(self._program(block)))

    def _python(self, block: Block) -> str:
        # empty lines before it give tracebacks the page's own line numbers
        source = "\n" * (block.line - 1) + block.code
        code = compile(
            source, str(self.path), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
        )
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            if code.co_flags & inspect.CO_COROUTINE:
                self.loop.run(_awaited(eval(code, self.names)))
            else:
                exec(code, self.names)
        return printed.getvalue()

    async def _program(self, block: Block) -> str:
        engine = self.names.get("engine")
        if not isinstance(engine, Engine):
            engine = self.names["engine"] = Engine()
            await engine.start()
        result = await engine.exec(block.code, _LANGUAGES[block.kind])
        for _ in range(_MAX_LEGS):
            if result.status != "waiting":
                break
            result = await engine.wait(result.run_id)
        if result.status == "failed" and block.printed is None:
            raise SystemExit(f"{self.path}:{block.line}: the program failed: {result.error}")
        return shown(result)

    def _command(self, block: Block, command: str, printed: str) -> str:
        done = subprocess.run(
            command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60
        )
        if done.returncode and not printed:
            raise SystemExit(
                f"{self.path}:{block.line}: {command} ended with {done.returncode}: {done.stdout}"
            )
        return done.stdout

    def _compare(self, block: Block, wanted: str | None, got: str) -> None:
        if wanted and not is_like(wanted, got):
            raise SystemExit(f"{self.path}:{block.line}: should print\n{wanted}\nbut prints\n{got}")

    async def _close(self) -> None:
        for value in self.names.values():
            if isinstance(value, Engine):
                await value.close()


def shown(result: CodeModeResult) -> str:
    """A program's output, then its value or its error."""
    lines = [
        json.dumps(item.value) if item.type == "json" else item.text if item.type == "text" else str(item)
        for item in result.output
    ]
    if result.status == "failed":
        lines.append(result.error)
    elif result.status == "completed" and result.value is not None:
        lines.append(json.dumps(result.value))
    return "".join(f"{line}\n" for line in lines)


def is_like(wanted: str, got: str) -> bool:
    pattern = re.escape(wanted.strip()).replace("…", "[^\n]*")
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in got.strip().splitlines())) is not None


async def _awaited(work: Any) -> None:
    await work


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command that is ours to run, and what it prints; open quotes and a last backslash go on."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        count = next(at for at in range(1, len(lines) + 1) if _is_whole("".join(lines[:at])))
        if part.startswith(".venv/bin/"):
            yield "".join(lines[:count]).strip(), "".join(lines[count:])


def _is_whole(command: str) -> bool:
    try:
        shlex.split(command)
    except ValueError:
        return False
    return not command.endswith("\\\n")


def _offer_commands(folder: Path) -> None:
    """`.venv/bin/codemode` and `.venv/bin/python` as in a clone, whatever environment this is."""
    scripts = folder / ".venv" / "bin"
    scripts.mkdir(parents=True)
    for name, words in (("codemode", "-m codemode "), ("python", "")):
        (scripts / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n')
        (scripts / name).chmod(0o755)


if __name__ == "__main__":
    Page(Path(sys.argv[1])).run()
