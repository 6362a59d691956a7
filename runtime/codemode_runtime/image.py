"""The guest image on disk: the pre-initialised module, and the manifest with its hash."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable
from pathlib import Path

import msgspec

FOLDER = Path(__file__).resolve().parent / "image"
# What the runner relies on in an image: its exports, the block, the patch of a capture, its messages. Raise
# it with a change of any of them: older images then need their own version of codemode, and are left alone.
ABI = 1
_NOT_BUILT = "the guest image is not built: run `make` in a clone, or install a wheel"


class ImageUnavailable(Exception):
    """The guest image is missing or damaged: nothing can run until it is built or installed again."""

    code = "runtime_unavailable"


class Manifest(msgspec.Struct, frozen=True, rename="camel"):
    build_id: str
    sha256: str
    block: int
    memory_bytes: int
    scratch: int
    scratch_bytes: int
    abi: int = 1  # manifests do not say it while there is only one


class Image(msgspec.Struct, frozen=True):
    """`block` is the address of the block that both sides share; `build_id` binds deltas to these bytes."""

    build_id: str
    block: int
    memory_bytes: int  # linear memory of a fresh guest
    scratch: int  # where input goes: memory that holds no state
    scratch_bytes: int
    wasm: bytes


def load(folder: Path = FOLDER) -> Image:
    """Reads and verifies the image; a few milliseconds, done once per process tree."""
    try:
        manifest = msgspec.json.decode((folder / "manifest.json").read_bytes(), type=Manifest)
        wasm = (folder / "guest.wasm").read_bytes()
    except FileNotFoundError:
        raise ImageUnavailable(_NOT_BUILT) from None
    except (OSError, msgspec.DecodeError) as error:
        raise ImageUnavailable(f"the guest image cannot be read: {error}") from None
    if hashlib.sha256(wasm).hexdigest() != manifest.sha256:
        raise ImageUnavailable(
            "the guest image is damaged (its hash differs from its manifest): build it again"
        )
    return Image(
        manifest.build_id,
        manifest.block,
        manifest.memory_bytes,
        manifest.scratch,
        manifest.scratch_bytes,
        wasm,
    )


def load_manifest(folder: Path = FOLDER) -> Manifest:
    """What the manifest says of the image, which is not read: the runner checks what it loads."""
    try:
        return msgspec.json.decode((folder / "manifest.json").read_bytes(), type=Manifest)
    except FileNotFoundError:
        raise ImageUnavailable(_NOT_BUILT) from None
    except (OSError, msgspec.DecodeError) as error:
        raise ImageUnavailable(f"the guest image cannot be read: {error}") from None


def other_images(folders: Iterable[Path], own: str) -> dict[str, Path]:
    """Images of other builds whose snapshots can be restored here, by build id: each in a folder of its own
    within one of these, as `codemode image save` writes them. Whatever else is there is left alone."""
    found: dict[str, Path] = {}
    for folder in folders:
        for manifest in sorted(folder.glob("*/manifest.json")):
            try:
                facts = load_manifest(manifest.parent)
            except ImageUnavailable:
                continue
            if facts.abi == ABI and facts.build_id != own and (manifest.parent / "guest.wasm").is_file():
                found.setdefault(facts.build_id, manifest.parent)
    return found


def image_folders() -> list[Path]:
    """Where images of other builds are: with the package, and where CODEMODE_IMAGES says."""
    named = os.environ.get("CODEMODE_IMAGES", "")
    return [FOLDER / "previous", *([Path(named).absolute()] if named else [])]


def compiled_suffix(packages: Path) -> str:
    """What the names of compiled images end with. `packages`: the folder where wasmtime is installed.

    Reads the name of its metadata folder; importlib.metadata would take a tenth of a cold start.
    """
    found = next((path.name for path in packages.glob("wasmtime-*.dist-info")), "wasmtime")
    return f"{found.removesuffix('.dist-info')}-{platform.machine()}"


class _CompilerManifest(msgspec.Struct, frozen=True):
    sha256: str


def load_compiler(folder: Path = FOLDER) -> str:
    """Reads and verifies the compiler of TypeScript, a program for the guest."""
    try:
        manifest = msgspec.json.decode((folder / "typescript.json").read_bytes(), type=_CompilerManifest)
        script = (folder / "typescript.js").read_bytes()
    except FileNotFoundError:
        raise ImageUnavailable(
            "the compiler of TypeScript is not built: run `make` in a clone, or install a wheel"
        ) from None
    except (OSError, msgspec.DecodeError) as error:
        raise ImageUnavailable(f"the compiler of TypeScript cannot be read: {error}") from None
    if hashlib.sha256(script).hexdigest() != manifest.sha256:
        raise ImageUnavailable(
            "the compiler of TypeScript is damaged (its hash differs from its manifest): build it again"
        )
    return script.decode()


def default_cache() -> Path | None:
    """Where machine code made from the image is kept for this user. Here, because the host needs it too.

    None for a user without a home: then nothing is kept. A relative folder is ignored, as XDG has it.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():
        try:
            base = Path.home() / ".cache"
        except RuntimeError:  # no HOME, and no entry in the table of users
            return None
    return base / "codemode" / "compiled" if base.is_absolute() else None


def is_private(folder: Path) -> bool:
    """Whether only this user can have written there; True for a folder that does not exist yet."""
    try:
        found = folder.stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return found.st_uid == os.getuid() and not found.st_mode & 0o077


def is_intact(compiled: Path) -> bool:
    """Whether a file of the cache is unchanged. Here, because the host asks without loading wasmtime."""
    try:
        return compiled.with_suffix(".hash").read_text() == compiled_digest(compiled.read_bytes())
    except (OSError, UnicodeDecodeError):
        return False


def compiled_digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=32).hexdigest()
