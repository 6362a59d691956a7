"""Subjects for the confinement tests: fresh interpreters that play the zygote and fork confined workers.

A subject loads what its attempts need, confines itself and forks one worker per attempt. Attempts are data: a
name and a line of Python; the outcome is its value, the name of its error, or of the signal that ended it.
"""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest
from codemode_runtime.confine import Layer

from tests.harness.patience import PATIENCE_SECONDS

RUNTIME = str(Path(__file__).parents[2] / "runtime")

SUBJECT = dedent("""
    import errno, json, os, signal, socket, sys
    sys.path.insert(0, {runtime!r})
    from codemode_runtime.confine import confine_worker, confine_zygote, prepare_zygote, writable_bytes
    from codemode_runtime.confine.kernel import this_kernel

    class Without:
        "The real kernel, less some calls and limits."
        def __init__(self, names):
            self.names, self.real, self.machine = names, this_kernel(), this_kernel().machine
        def call(self, name, *arguments):
            return self.has(name).call(name, *arguments)
        def limit(self, name, value):
            return self.has(name).limit(name, value)
        def has(self, name):
            if name in self.names:
                raise OSError(errno.ENOSYS, name)
            return self.real

    kernel = Without({without!r})
    prepare_zygote({keep!r}, int(sys.argv[1]), kernel)
""")

ATTEMPTS = dedent("""
    confine_zygote(kernel)
    zygote, outcomes = os.getpid(), {}
    for name, source in json.loads(sys.argv[2]).items():
        ours, theirs = socket.socketpair()
        worker = os.fork()
        if worker == 0:
            confine_worker(MEMORY, zygote, kernel=kernel)
            try:
                outcome = repr(eval(source))
            except OSError as error:
                outcome = errno.errorcode.get(error.errno, type(error).__name__)
            except Exception as error:
                outcome = type(error).__name__
            theirs.sendall(outcome.encode())
            os._exit(0)
        theirs.close()
        outcome = ours.recv(4096).decode()
        ours.close()
        code = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
        outcomes[name] = signal.Signals(-code).name if code < 0 else outcome
    os.write(1, json.dumps(outcomes).encode())
    os._exit(0)  # as a zygote ends: an interpreter that shuts down would free callbacks, which are locked
""")


def zygote(*, without: tuple[str, ...] = (), keep: tuple[int, ...] = ()) -> str:
    """The beginning of a subject's script: a prepared zygote on a kernel that lacks `without`."""
    return SUBJECT.format(runtime=RUNTIME, without=without, keep=keep)


def spawn(script: str, *arguments: str, keep: tuple[int, ...] = ()) -> subprocess.Popen[bytes]:
    """A subject with an empty environment and no descriptors but the kept."""
    return subprocess.Popen(
        [sys.executable, "-I", "-c", script, str(os.getpid()), *arguments],
        env={},
        pass_fds=keep,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )


def finish(subject: subprocess.Popen[bytes]) -> bytes:
    """Wait for the subject's end and give its output; one that does not end is killed."""
    try:
        return subject.communicate(timeout=PATIENCE_SECONDS)[0]
    except subprocess.TimeoutExpired:
        subject.kill()
        subject.communicate()
        raise


def outcomes_of(attempts: dict[str, str], load: str, without: tuple[str, ...] = ()) -> dict[str, str]:
    """Each attempt's outcome in a worker of its own. `load` runs in the zygote before it is confined."""
    subject = spawn(zygote(without=without) + dedent(load) + ATTEMPTS, json.dumps(attempts))
    output = finish(subject)
    assert subject.returncode == 0
    return json.loads(output)


@cache
def system_layers() -> list[Layer]:
    """What this system offers, asked in a fresh interpreter: probe() wants a process with one thread."""
    script = f"import sys; sys.path.insert(0, {RUNTIME!r})\n" + dedent("""
        import msgspec
        from codemode_runtime.confine import probe
        sys.stdout.buffer.write(msgspec.json.encode(probe()))
    """)
    output = finish(spawn(script))
    return [Layer(**layer) for layer in json.loads(output)]


def need(*names: str) -> None:
    """Skip the test where the system itself lacks one of these layers."""
    inactive = [layer for layer in system_layers() if layer.name in names and layer.status != "active"]
    if inactive:
        pytest.skip(f"not on this system: {inactive}")
