"""The key that seals envelopes: fresh for an in-memory store, in a private file beside a durable one.

The file holds 64 hexadecimal digits and a newline. A process that can read it can forge snapshots, so a file
that others can read is refused rather than repaired: they may have read it already.
"""

import contextlib
import os
import secrets
import stat
from pathlib import Path

from codemode_snapshots.envelope import KEY_BYTES
from codemode_snapshots.errors import KeyRefused

_FILE_BYTES = 2 * KEY_BYTES + 1


def new_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def load_or_create_key(path: str | os.PathLike[str]) -> bytes:
    """The key in this file; makes one first if there is none. Processes that race all get the same key."""
    file = Path(path)
    try:
        return _load(file)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise KeyRefused(f"cannot read the key file {file}: {error.strerror}") from None
    try:
        _create(file)
        return _load(file)
    except OSError as error:
        raise KeyRefused(
            f"cannot create the key file {file}: {error.strerror}; "
            "name a file in an existing, writable directory, or supply a key"
        ) from None


def _load(file: Path) -> bytes:
    # Non-blocking, because a pipe in the key's place must not hang the engine.
    descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as opened:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise KeyRefused(f"the key file {file} is not a regular file")
        if os.name == "posix":
            _require_private(file, facts)
        text = opened.read(_FILE_BYTES + 1)
    try:
        key = bytes.fromhex(text.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise KeyRefused(
            f"the key file {file} does not hold a key: 64 hexadecimal digits; restore it from a backup"
        )
    return key


def _require_private(file: Path, facts: os.stat_result) -> None:
    if facts.st_uid not in (os.geteuid(), 0):
        raise KeyRefused(
            f"the key file {file} belongs to another user, who can forge snapshots; use another file"
        )
    if facts.st_mode & 0o077:
        raise KeyRefused(
            f"the key file {file} can be read by others (mode {facts.st_mode & 0o777:04o}); "
            "if nobody has read it run chmod 600 on it, else delete it together with its runs"
        )


def _create(file: Path) -> None:
    """Writes a draft and links it, so that the file appears whole or not at all, and replaces no other."""
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "wb") as opened:
            opened.write(new_key().hex().encode("ascii") + b"\n")
            opened.flush()
            os.fsync(descriptor)
        with contextlib.suppress(FileExistsError):  # another process was first: its key counts
            os.link(draft, file)
    finally:
        os.unlink(draft)
    if os.name == "posix":
        _sync_directory(file.parent)


def _sync_directory(directory: Path) -> None:
    """Without this a power loss could take the key and leave the runs sealed with it."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
