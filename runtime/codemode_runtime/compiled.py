"""Loads the compiled guest from a private, verified cache of machine code, because compiling takes a second.

A compiled module has no integrity check of its own, and a damaged one crashes the process. So the folder must
belong to the user alone, and each file is checked against its hash before it is mapped.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import wasmtime

from codemode_runtime.image import (
    Image,
    ImageUnavailable,
    compiled_digest,
    compiled_suffix,
    default_cache,
    is_intact,
    is_private,
)
from codemode_runtime.wasm import Machine, new_engine


def load_machine(image: Image, cache: Path | None = None, *, trusted: bool = True) -> Machine:
    """Milliseconds from the cache; about a second if it has to compile. Raises ImageUnavailable.

    Inside a user namespace every foreign owner looks alike: a process that enters one asks `is_private`
    before, and passes the answer as `trusted`.
    """
    engine = new_engine(compiles_alone=not trusted)
    try:
        folder = cache or default_cache()
        if not trusted or folder is None:
            return Machine(engine, wasmtime.Module(engine, image.wasm))
        return Machine(engine, _load(engine, image, folder))
    except wasmtime.WasmtimeError as error:
        raise ImageUnavailable(f"the guest image does not load: {error}") from None


def is_cached(image: Image, cache: Path | None = None) -> bool:
    folder = cache or default_cache()
    return folder is not None and folder.joinpath(_name(image)).exists()


def _name(image: Image) -> str:
    return f"{image.build_id}-{compiled_suffix(Path(wasmtime.__file__).parent.parent)}.cwasm"


def _load(engine: wasmtime.Engine, image: Image, cache: Path) -> wasmtime.Module:
    path = cache / _name(image)
    if is_private(cache) and is_intact(path):
        # wasmtime refuses code for another CPU or configuration; it is then compiled anew
        with contextlib.suppress(wasmtime.WasmtimeError):
            return wasmtime.Module.deserialize_file(engine, str(path))
    module = wasmtime.Module(engine, image.wasm)
    # a read-only home only costs a second at each start
    with contextlib.suppress(OSError):
        _store(path, bytes(module.serialize()))
    return module


def _store(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not is_private(path.parent):
        return
    for target, content in ((path, data), (path.with_suffix(".hash"), compiled_digest(data).encode())):
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, target)
