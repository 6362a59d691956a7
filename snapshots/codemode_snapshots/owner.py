"""Names the engine that holds a run, so that a later process can check whether it is alive.

A pid can be reused, so an owner also has the moment its process started, the boot in which it did, the pid
namespace of the number, and a random id per engine. Only Linux can tell all of these. An owner that cannot be
checked counts as alive, because ending a run under a living engine would lose it.
"""

import os
import secrets
from pathlib import Path

import msgspec

_PROC = Path("/proc")


class Owner(msgspec.Struct, frozen=True):
    """One engine of one process. An unknown fact is an empty text."""

    engine_id: str
    pid: int
    started: str
    boot: str
    namespace: str

    def encode(self) -> str:
        return " ".join((self.engine_id, str(self.pid), self.started, self.boot, self.namespace))

    @staticmethod
    def decode(text: str) -> "Owner":
        engine_id, pid, started, boot, namespace = text.split(" ")
        return Owner(engine_id, int(pid), started, boot, namespace)


# The owner of runs that a closed engine left; never alive.
NOBODY = Owner("-", 0, "", "", "")


def new_owner() -> Owner:
    """A new owner for an engine of this process; each call makes another engine id."""
    pid = os.getpid()
    return Owner(secrets.token_hex(8), pid, _started(pid) or "", _boot(), _namespace())


def is_alive(owner: Owner) -> bool:
    """False only when the owner's process is certainly gone. Reads /proc; a few tens of microseconds."""
    if owner == NOBODY:
        return False
    boot = _boot()
    if not (owner.boot and owner.started and boot):
        return _pid_exists(owner.pid)
    if owner.boot != boot:
        # WAL needs shared memory, so all users of one file share one kernel: another boot is a past one.
        return False
    if owner.namespace != _namespace():
        return True  # a container beside this one: its pids mean nothing here
    started = _started(owner.pid)
    return _pid_exists(owner.pid) if started is None else started == owner.started


def _started(pid: int) -> str | None:
    """Clock ticks from boot to the start of the process; "" for a zombie, None if it cannot be seen."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    # The command name comes second, in parentheses, and may itself contain spaces and parentheses.
    fields = stat[stat.rindex(")") + 2 :].split(" ")
    return "" if fields[0] in "ZX" else fields[19]


def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip().replace("-", "")
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return os.readlink(_PROC / "self/ns/pid").strip("pid:[]")
    except OSError:
        return ""


def _pid_exists(pid: int) -> bool:
    if os.name != "posix":
        return True  # on Windows, os.kill with signal 0 would send a real signal
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
