"""The doctor's checks of what an engine needs before it starts. They change and start nothing."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path

from codemode_runtime.image import (
    Image,
    ImageUnavailable,
    default_cache,
    image_folders,
    is_intact,
    is_private,
    load,
    other_images,
)
from codemode_snapshots import SnapshotError, load_or_create_key

from codemode.cli.checks.findings import Finding

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_OLDEST_PYTHON = (3, 11)

_OTHER_BUILDS = "runs of other builds"


def check_python() -> Finding:
    told = f"{platform.python_version()} on {platform.system()} {platform.release()} {platform.machine()}"
    if sys.version_info < _OLDEST_PYTHON:
        return Finding("python", "unavailable", told, "use Python 3.11 or newer")
    return Finding("python", "ok", told)


def check_packages(wants_mcp: bool) -> list[Finding]:
    """Checks the requirements that the installed package declares."""
    try:
        needed = metadata.requires("codemode") or []
    except metadata.PackageNotFoundError:
        return [Finding("packages", "degraded", "codemode is not installed", "pip install codemode")]
    names = [_name(line) for line in needed if "extra ==" not in line]
    missing = [name for name in names if _version(name) is None]
    told = ", ".join(f"{name} {_version(name)}" for name in names if name not in missing)
    found = [Finding("packages", "ok", told)]
    if missing:
        found = [
            Finding("packages", "unavailable", f"not installed: {', '.join(missing)}", "pip install codemode")
        ]
    sdk = _version("mcp")
    if sdk is None:
        fix = 'pip install "codemode[mcp]"'
        found.append(Finding("mcp sdk", "degraded" if wants_mcp else "ok", "not installed", fix))
    else:
        found.append(Finding("mcp sdk", "ok", f"mcp {sdk}"))
    return found


def check_image() -> tuple[Finding, Image | None]:
    try:
        image = load()
    except ImageUnavailable as error:
        fix = "run `make image` in a clone, or install the package again"
        return Finding("guest image", "unavailable", str(error), fix), None
    told = f"build {image.build_id[:12]}, {len(image.wasm)} bytes, digest as in its manifest"
    return Finding("guest image", "ok", told), image


def check_cache(image: Image) -> Finding:
    """Checks the cache of machine code. Without it each start compiles the image for a second."""
    folder = default_cache()
    if folder is None:
        return Finding(
            "compiled cache",
            "degraded",
            "this user has no home directory, so nothing is kept: each start compiles anew",
            "set XDG_CACHE_HOME to a folder of this user's own",
        )
    if not is_private(folder):
        return Finding(
            "compiled cache",
            "degraded",
            f"{folder} can be written or read by others, so it is not used: each start compiles anew",
            f"chmod 700 {folder}, if it is yours; else set XDG_CACHE_HOME to a folder of your own",
        )
    if not _can_create(folder):
        fix = "make the folder writable, or set XDG_CACHE_HOME to one that is"
        return Finding(
            "compiled cache", "degraded", f"{folder} cannot be written: each start compiles anew", fix
        )
    compiled = sorted(folder.glob(f"{image.build_id}-*.cwasm"))
    if not compiled:
        return Finding("compiled cache", "ok", f"{folder}: empty, the first start fills it")
    damaged = [file.name for file in compiled if not is_intact(file)]
    if damaged:
        return Finding(
            "compiled cache",
            "degraded",
            f"{folder}: {', '.join(damaged)} is damaged, and will be compiled anew",
            f"nothing, or remove {folder}",
        )
    return Finding("compiled cache", "ok", f"{folder}: {len(compiled)} files, private and intact")


def check_store(path: Path, build_id: str) -> tuple[Finding, bool]:
    """Checks that the file is a store of ours, with its key and runs that this build can restore. The flag:
    whether an engine may open it, which would create a file that does not exist."""
    if not path.exists():
        return Finding("store file", "ok", f"{path} is not there yet; the first run makes it"), False
    found = _check_store(path, build_id)
    return found, found.status == "ok" or found.name == _OTHER_BUILDS


def _check_store(path: Path, build_id: str) -> Finding:
    from codemode_snapshots.sqlite import SqliteStore
    from codemode_snapshots.sqlite_schema import SCHEMA_VERSION

    key = path.with_name(path.name + ".key")
    try:
        store = SqliteStore(path)
        try:
            totals = store.totals()
            known = {build_id, *other_images(image_folders(), build_id)}
            foreign = sum(run.label.build_id not in known for run in store.list_runs()) if build_id else 0
        finally:
            store.close()
        if key.exists():
            load_or_create_key(key)
    except SnapshotError as error:
        problem, _, advice = str(error).partition("; ")
        return Finding("store file", "unavailable", problem, advice or "name another file with --store")
    if totals.runs and not key.exists():
        fix = f"restore {key} from a backup; without it the runs are lost"
        return Finding("store file", "degraded", f"{totals.runs} runs, and no key to open them", fix)
    if foreign:
        problem = f"{foreign} of {totals.runs} runs were suspended by another build, and stay for it"
        fix = (
            "put its image where CODEMODE_IMAGES says (`codemode image save`), or finish them with the "
            "version that suspended them; `codemode runs show` tells what each has done"
        )
        return Finding(_OTHER_BUILDS, "degraded", problem, fix)
    told = f"{path}: schema {SCHEMA_VERSION}, {totals.runs} runs, {totals.bytes} bytes"
    return Finding("store file", "ok", told)


def _can_create(folder: Path) -> bool:
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    return os.access(there, os.W_OK | os.X_OK)


def _name(requirement: str) -> str:
    found = _NAME.match(requirement)
    return found[0] if found else requirement


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
