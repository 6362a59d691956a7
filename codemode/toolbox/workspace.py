"""A folder that tools cannot leave: each path is walked name by name, from descriptor to descriptor.

A symbolic link is read and its target walked the same way, so a link that leads outside is refused, and one
that changes between the check and the use leads nowhere else: what was opened is what was checked. The kernel
is never given a path of more than one name.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import threading
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from codemode.config import ConfigError
from codemode.tools import ToolError

_MAX_PATH = 4_096
_MAX_LINKS = 40  # as the kernel
_DIRECTORY = (
    os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
)
_FILE = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# Writing there would run code when somebody uses git; programs that may, use git itself.
_PROTECTED = (".git",)


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a path leads: an open folder, and a name in it that is no symbolic link."""

    folder: int
    name: str
    shown: str
    """The path as it is after all links, relative to the workspace."""


@dataclass(frozen=True, slots=True)
class FileState:
    """Enough to see that a file is another one or was changed since."""

    inode: int
    size: int
    changed_ns: int

    @classmethod
    def of(cls, found: os.stat_result) -> FileState:
        return cls(found.st_ino, found.st_size, found.st_mtime_ns)


class Workspace:
    """Opens and replaces files below `root`. Any thread may use it; `close` gives its descriptor back."""

    def __init__(self, root: str | Path, *, protected: tuple[str, ...] = _PROTECTED) -> None:
        if os.open not in os.supports_dir_fd:
            raise ConfigError(
                "workspace", "this system cannot open files relative to a folder; use Linux or macOS."
            )
        self.root = Path(root).resolve()
        self._protected = frozenset(name.casefold() for name in protected)
        self.changing = (
            threading.Lock()
        )  # one change at a time: what is read, changed and written is one step
        try:
            self._root: int | None = os.open(self.root, _DIRECTORY)
        except OSError as error:
            raise ConfigError(
                "workspace", f"{root} cannot be opened as a folder: {error.strerror}."
            ) from None

    def close(self) -> None:
        if self._root is not None:
            os.close(self._root)
            self._root = None

    @contextmanager
    def place(self, path: str, *, make_folders: bool = False) -> Generator[Destination]:
        """Walks to the last name of `path`. Raises ToolError for a path that leads outside or nowhere."""
        walk = _PathWalk(self, path, make_folders)
        try:
            yield walk.to_the_end()
        finally:
            walk.close()

    @contextmanager
    def reading(self, path: str) -> Generator[tuple[int, str]]:
        """A descriptor of a file or folder and the path it has; never of a device, a pipe or a socket."""
        with self.place(path) as place:
            try:
                found = os.open(place.name or ".", _FILE, dir_fd=place.folder)
            except OSError as error:
                raise _told(error, path) from None
            try:
                mode = os.fstat(found).st_mode
                if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                    raise ToolError(f"{path} is a {_kind(mode)}, not a file or a folder.", code="not_a_file")
                yield found, place.shown
            finally:
                os.close(found)

    @contextmanager
    def folder(self, path: str) -> Generator[int]:
        """A descriptor of a folder."""
        with self.reading(path) as (descriptor, _):
            if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise ToolError(f"{path} is a file, not a folder.", code="not_a_folder")
            yield descriptor

    def read_bytes(self, path: str, most: int) -> tuple[bytes, FileState, str]:
        """A whole file. Raises ToolError if it has more than `most` bytes."""
        with self.reading(path) as (descriptor, shown):
            found = os.fstat(descriptor)
            if stat.S_ISDIR(found.st_mode):
                raise ToolError(f"{path} is a folder.", code="is_a_folder")
            if found.st_size > most:
                raise ToolError(
                    f"{path} has {found.st_size} bytes; at most {most} can be changed.", code="too_large"
                )
            data = read_all(descriptor, most + 1)
            if len(data) > most:
                raise ToolError(f"{path} grew over {most} bytes while it was read.", code="too_large")
            return data, FileState.of(found), shown

    def check_writable(self, shown: str) -> None:
        """Raises ToolError for a path below a protected folder."""
        inside = [part for part in shown.split("/") if part.casefold() in self._protected]
        if inside:
            raise ToolError(
                f"{shown} is below {inside[0]}, which tools do not change.", code="protected_path"
            )

    def replace(self, path: str, data: bytes, *, was: FileState | None = None, is_new: bool = False) -> str:
        """Writes a file whole or not at all, and keeps its mode. Makes missing folders. Returns its path.

        With `was` the file must still be as it was then; with `is_new` there must be none yet.
        """
        with self.place(path, make_folders=True) as place:
            if not place.name:
                raise ToolError(f"{path or 'the workspace'} is a folder.", code="is_a_folder")
            self.check_writable(place.shown)
            mode = self._check_target(place, path, was, is_new)
            temporary = f".{place.name[:100]}.{secrets.token_hex(6)}.tmp"
            try:
                descriptor = os.open(temporary, _NEW, 0o600, dir_fd=place.folder)
            except OSError as error:
                raise _told(error, path) from None
            try:
                try:
                    write_all(descriptor, data)
                    os.fchmod(descriptor, mode)
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
                os.rename(temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
            except OSError as error:
                os.unlink(temporary, dir_fd=place.folder)
                raise _told(error, path) from None
            return place.shown

    def remove(self, path: str, *, was: FileState | None = None) -> None:
        with self.place(path) as place:
            self.check_writable(place.shown)
            self._check_target(place, path, was, is_new=False)
            try:
                os.unlink(place.name, dir_fd=place.folder)
            except OSError as error:
                raise _told(error, path) from None

    def exists(self, path: str) -> bool:
        try:
            with self.place(path) as place:
                os.stat(place.name or ".", dir_fd=place.folder, follow_symlinks=False)
                return True
        except OSError:
            return False
        except ToolError as error:
            if error.code == "not_found":
                return False
            raise

    def _check_target(self, place: Destination, path: str, was: FileState | None, is_new: bool) -> int:
        """The mode that a new version of the file gets."""
        try:
            found = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
        except FileNotFoundError:
            if was is not None:
                raise ToolError(f"{path} was removed meanwhile; read it again.", code="changed") from None
            return 0o666 & ~_umask()
        if is_new:
            raise ToolError(f"{path} exists already.", code="exists")
        if not stat.S_ISREG(found.st_mode):
            kind = "folder" if stat.S_ISDIR(found.st_mode) else _kind(found.st_mode)
            raise ToolError(f"{path} is a {kind}, not a file.", code="not_a_file")
        if was is not None and FileState.of(found) != was:
            raise ToolError(f"{path} was changed meanwhile; read it again.", code="changed")
        return stat.S_IMODE(found.st_mode) & 0o777

    def _open_root(self) -> int:
        if self._root is None:
            raise ToolError("The workspace is closed.", code="closed")
        return os.dup(self._root)

    def relative(self, path: str) -> str:
        """The path below the root, by its text alone. Raises ToolError for an absolute path elsewhere."""
        if not path or "\0" in path or len(path) > _MAX_PATH:
            raise ToolError("A path is 1 to 4,096 characters without NUL.", code="bad_path")
        if not path.startswith("/"):
            return path
        root = str(self.root)
        if path == root or path.startswith(f"{root}/"):
            return path[len(root) :]
        raise outside(path)


class _PathWalk:
    """One walk along a path; holds the descriptors of the folders between the root and where it is."""

    def __init__(self, workspace: Workspace, path: str, make_folders: bool) -> None:
        self._workspace = workspace
        self._path = path
        self._make_folders = make_folders
        self._left = deque(workspace.relative(path).split("/"))
        self._names: list[str] = []
        self._folders = [workspace._open_root()]  # pyright: ignore[reportPrivateUsage]
        self._links = 0

    def close(self) -> None:
        while self._folders:
            os.close(self._folders.pop())

    def to_the_end(self) -> Destination:
        while self._left:
            name = self._left.popleft()
            if name in ("", "."):
                continue
            if name == "..":
                self._go_up()
            elif (target := self._link(name)) is not None:
                self._follow(target)
            elif any(part not in ("", ".") for part in self._left):
                self._enter(name)
            else:
                return Destination(self._folders[-1], name, "/".join([*self._names, name]))
        return Destination(self._folders[-1], "", "/".join(self._names) or ".")

    def _go_up(self) -> None:
        if not self._names:
            raise outside(self._path)
        self._names.pop()
        os.close(self._folders.pop())

    def _link(self, name: str) -> str | None:
        """Where a link leads; None if the name is no link. It may change any moment: it is walked."""
        try:
            return os.readlink(name, dir_fd=self._folders[-1])
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return None
            raise _told(error, self._path) from None

    def _follow(self, target: str) -> None:
        self._links += 1
        if self._links > _MAX_LINKS:
            raise ToolError(f"{self._path} goes through too many links.", code="bad_path")
        if target.startswith("/"):
            target = self._workspace.relative(target)
            while self._names:
                self._go_up()
        self._left.extendleft(reversed(target.split("/")))

    def _enter(self, name: str) -> None:
        try:
            self._folders.append(self._open_folder(name))
        except OSError as error:
            raise _told(error, self._path) from None
        self._names.append(name)

    def _open_folder(self, name: str) -> int:
        here = self._folders[-1]
        try:
            return os.open(name, _DIRECTORY, dir_fd=here)
        except FileNotFoundError:
            if not self._make_folders:
                raise
            self._workspace.check_writable("/".join([*self._names, name]))
            with suppress(FileExistsError):  # another call made it
                os.mkdir(name, dir_fd=here)
            return os.open(name, _DIRECTORY, dir_fd=here)


def read_all(descriptor: int, most: int) -> bytes:
    parts: list[bytes] = []
    left = most
    while left > 0 and (part := os.read(descriptor, min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def outside(path: str) -> ToolError:
    return ToolError(
        f"{path} leads out of the workspace. Use a path relative to it, without links to elsewhere.",
        code="outside_workspace",
    )


def _told(error: OSError, path: str) -> ToolError:
    match error.errno:
        case errno.ENOENT:
            return ToolError(f"There is no {path}.", code="not_found")
        case errno.ENOTDIR:
            return ToolError(f"A part of {path} is no folder.", code="not_found")
        case errno.ELOOP:
            return ToolError(
                f"{path} became a link while it was opened; try again.", code="changed", retryable=True
            )
        case errno.ENAMETOOLONG:
            return ToolError(f"A name in {path[:80]}… is too long.", code="bad_path")
        case errno.EISDIR:
            return ToolError(f"{path} is a folder.", code="is_a_folder")
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return ToolError(f"{path} may not be used: {error.strerror}.", code="not_permitted")
        case _:
            return ToolError(f"{path}: {error.strerror}.", code="io_error", retryable=True)


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "pipe"
    if stat.S_ISSOCK(mode):
        return "socket"
    return "link" if stat.S_ISLNK(mode) else "device"


def _umask() -> int:
    """Read once: asking changes it for a moment, for all threads."""
    return _UMASK


_UMASK = os.umask(0o022)
os.umask(_UMASK)
