"""Copies the file of an SQLite store while engines use it: the copy is as the file was at one moment."""

import contextlib
import os
import sqlite3
from pathlib import Path

from codemode_snapshots.errors import StoreUnavailable
from codemode_snapshots.sqlite_file import translated

_PAGES = 1024  # copied at a time; writers go on in between


def back_up(path: Path, to: Path) -> None:
    """Raises StoreUnavailable; no half copy is left. `to` must not exist, and is made with mode 0600."""
    try:
        os.close(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise StoreUnavailable(f"{to} cannot be created: {error.strerror}") from None
    try:
        with (
            translated(path),
            contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as source,
            contextlib.closing(sqlite3.connect(to)) as copy,
        ):
            source.backup(copy, pages=_PAGES)
    except BaseException:
        to.unlink()
        raise
