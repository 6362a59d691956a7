"""Builds the guest image: fetch QuickJS-NG, compile it with the shim, boot it, write the memory back; and
beside it the compiler of TypeScript, a program for the guest, and the native runner (make_runner.py).

`python runtime/build/make_image.py [folder]` from a clone; hatch_hook.py calls `build` for wheels. Does
nothing when the image on disk was made from the same inputs. Two builds give the same bytes, wherever and
whenever they run.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import change
import changes
import compiler
import make_runner
import misuse
import polls
import source
import speed
import wasm_binary
import weak
from compiler import BABEL
from source import QUICKJS, BuildError, write_whole

RUNTIME = Path(__file__).resolve().parent.parent
IMAGE = RUNTIME / "codemode_runtime" / "image"
SHIM, PRELUDE, COMPILER = RUNTIME / "shim", RUNTIME / "prelude", RUNTIME / "compiler"
ENGINE_FILES = ("libregexp.c", "libunicode.c", "dtoa.c")  # quickjs.c itself is included by shim/engine.c
SCRATCH_AT = 40  # in the block: scratch_ptr, scratch_len
STACK_BYTES = 3 << 20
FLAGS = (
    "-target", "wasm32-wasi", "-mexec-model=reactor", "-O3", "-msimd128", "-s", "-DNDEBUG", "-D_GNU_SOURCE",
    "-D_WASI_EMULATED_SIGNAL", "-D_WASI_EMULATED_PROCESS_CLOCKS", "-lwasi-emulated-signal",
    "-lwasi-emulated-process-clocks", f"-Wl,-z,stack-size={STACK_BYTES}", "-w",
)  # fmt: skip


def build(folder: Path = IMAGE, say: Callable[[str], None] = print) -> None:
    """Makes what is in `folder` up to date. Raises BuildError."""
    inputs = _inputs()
    manifest = folder / "manifest.json"
    if not _is_current(manifest, "guest.wasm", inputs):
        _build_guest(folder, manifest, inputs, say)
    inputs = _compiler_inputs()
    manifest = folder / "typescript.json"
    if not _is_current(manifest, "typescript.js", inputs):
        _build_compiler(folder, manifest, inputs, say)
    make_runner.build(folder, say)


def _build_guest(folder: Path, manifest: Path, inputs: dict[str, Any], say: Callable[[str], None]) -> None:
    say("building the guest image (QuickJS-NG to WebAssembly, about a minute the first time) …")
    engine = source.fetch(QUICKJS, source.cache())
    with tempfile.TemporaryDirectory() as scratch:
        wasm = _compile(engine, Path(scratch))
    image, layout = _boot(wasm)
    digest = _digest(image)
    facts = {"buildId": digest[:32], "sha256": digest, "bytes": len(image), **layout, "inputs": inputs}
    write_whole(folder / "guest.wasm", image)
    write_whole(manifest, json.dumps(facts, indent=2).encode())  # last: it vouches for the other file
    say(f"guest image {digest[:12]}: {len(image) // 1024} KiB")


def _build_compiler(folder: Path, manifest: Path, inputs: dict[str, Any], say: Callable[[str], None]) -> None:
    """Apart from the guest: deltas are bound to that one, and a new compiler must not make them void."""
    script = compiler.make_compiler(COMPILER, source.cache()).encode()
    digest = _digest(script)
    write_whole(folder / "typescript.js", script)
    write_whole(manifest, json.dumps({"sha256": digest, "inputs": inputs}, indent=2).encode())
    say(f"compiler of TypeScript {digest[:12]}: {len(script) // 1024} KiB")


def _compiler_inputs() -> dict[str, Any]:
    return {
        "source": {"package": BABEL.name, "version": BABEL.version, "sha256": BABEL.sha256},
        "files": _digests([*compiler.compiler_files(COMPILER), Path(compiler.__file__).resolve()]),
    }


def _inputs() -> dict[str, Any]:
    _version("wasmtime")  # needed at the end of a build; better missed at its beginning
    return {
        "source": {"package": QUICKJS.package, "version": QUICKJS.version, "sha256": QUICKJS.sha256},
        "ziglang": _version("ziglang"),
        "flags": list(FLAGS),
        "files": _digests([*_shim(), *prelude_files(), *_builders()]),
    }


def _is_current(manifest: Path, product: str, inputs: dict[str, Any]) -> bool:
    try:
        facts = json.loads(manifest.read_bytes())
        made = (manifest.parent / product).read_bytes()
    except (OSError, ValueError):
        return False
    return facts.get("inputs") == inputs and _digest(made) == facts.get("sha256")


def _digests(files: list[Path]) -> dict[str, str]:
    return {file.relative_to(RUNTIME).as_posix(): _digest(file.read_bytes()) for file in files}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _shim() -> list[Path]:
    return sorted(SHIM.rglob("*.[ch]"))


def translation_units() -> list[Path]:
    """The C files that are compiled; those in a subfolder are included by one of them."""
    return sorted(SHIM.glob("*.c"))


def engine_files(engine: Path, scratch: Path, changed: list[str]) -> list[Path]:
    """Those of the engine that are compiled, a changed one from where it was written to."""
    return [(scratch if name in changed else engine) / name for name in ENGINE_FILES]


def prelude_files() -> list[Path]:
    return sorted(PRELUDE.glob("[0-9]*.js"))


def _builders() -> list[Path]:
    modules = change, changes, misuse, polls, speed, wasm_binary, weak
    return [Path(file).resolve() for file in (__file__, *(str(module.__file__) for module in modules))]


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        raise BuildError(f"the build needs {package}: run `make`, or pip install {package}") from None


def _compile(engine: Path, scratch: Path) -> bytes:
    out = scratch / "guest.wasm"
    changed = changes.write_changed(engine, scratch)
    files = [*translation_units(), *engine_files(engine, scratch, changed)]
    compiler = sys.executable, "-m", "ziglang", "cc"
    folders = [f"-I{folder}" for folder in (scratch, engine, SHIM)]
    command = [*compiler, *FLAGS, *folders, *map(str, files), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"the C compiler refused the guest:\n{done.stderr.strip()[-4000:]}")
    return out.read_bytes()


def _boot(wasm: bytes) -> tuple[bytes, dict[str, int]]:
    """Runs boot and prelude once; returns the module with that memory, and where things are in it."""
    import wasmtime  # here, as it is only needed where an image is really built

    if (found := wasm_binary.mutable_globals(wasm)) != 1:
        raise BuildError(
            f"the guest has {found} mutable globals; an image can only leave out the stack pointer"
        )
    engine = wasmtime.Engine()
    module = wasmtime.Module(engine, wasm)
    store = wasmtime.Store(engine)
    linker = wasmtime.Linker(engine)
    i32, f64 = wasmtime.ValType.i32(), wasmtime.ValType.f64()
    # constant answers: an image must not depend on when and where it was made
    for name, params, results, answer in (
        ("now", [i32], [f64], 0.0),
        ("random", [i32, i32], [], None),
        ("lookup", [i32, i32, i32], [i32], -1),
        ("lookup_read", [i32], [], None),
    ):
        linker.define_func("codemode", name, wasmtime.FuncType(params, results), _always(answer))
    exports: Any = linker.instantiate(store, module).exports(store)
    memory = exports["memory"]
    exports["_initialize"](store)
    if exports["cm_boot"](store):
        raise BuildError("the guest did not boot")
    for path in prelude_files():
        text = f"(function (internal) {{ 'use strict'; {path.read_text()}\n}})"
        _evaluate(exports, store, memory, text, path.name)
    exports["cm_seal"](store)
    block = exports["cm_block"](store)
    scratch, room = struct.unpack("<II", memory.read(store, block + SCRATCH_AT, block + SCRATCH_AT + 8))
    size = memory.data_len(store)
    layout = {"block": block, "memoryBytes": size, "scratch": scratch, "scratchBytes": room}
    return wasm_binary.with_memory(wasm, bytes(memory.read(store, 0, memory.data_len(store)))), layout


def _always(answer: float | None) -> Callable[..., float | None]:
    return lambda *_: answer


def _evaluate(exports: Any, store: Any, memory: Any, text: str, name: str) -> None:
    code, label = text.encode(), name.encode() + b"\0"
    at = exports["cm_inbox"](store, len(code) + 1 + len(label))
    memory.write(store, code + b"\0" + label, at)
    if exports["cm_prelude"](store, at, len(code), at + len(code) + 1):
        block = exports["cm_block"](store)
        words = memory.read(store, block + 12, block + 20)
        ptr, size = int.from_bytes(words[:4], "little"), int.from_bytes(words[4:], "little")
        complaint = bytes(memory.read(store, ptr, ptr + size)).decode(errors="replace")
        raise BuildError(f"prelude/{name}: {complaint}")


if __name__ == "__main__":
    try:
        build(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGE)
    except (BuildError, OSError) as error:
        sys.exit(f"cannot build the guest image: {error}")
