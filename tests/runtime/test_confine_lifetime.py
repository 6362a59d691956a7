"""Whose death ends whom, and a probe that leaves its caller alone. Real processes throughout."""

import os
import select
import signal
from textwrap import dedent

from tests.harness.patience import PATIENCE_SECONDS
from tests.runtime.confine_subject import (
    RUNTIME,
    finish,
    need,
    spawn,
    system_layers,
    zygote,
)

# A fresh interpreter, because probe() wants a process with one thread.
PROBING = f"import errno, os, signal, sys; sys.path.insert(0, {RUNTIME!r})\n" + dedent("""
    from codemode_runtime.confine import probe
""")


def test_killing_the_host_kills_its_zygote_and_the_workers() -> None:
    need("death_signal")
    lifeline, held = os.pipe()
    zygote_script = zygote(keep=(held,)) + dedent(f"""
        never, _open = socket.socketpair()
        confine_zygote(kernel)
        zygote = os.getpid()
        if os.fork() == 0:
            confine_worker(1 << 30, zygote, kernel=kernel)
            os.write({held}, b"w")
            never.recv(1)
        os.write({held}, b"z")
        never.recv(1)
    """)
    host_script = dedent(f"""
        import os, subprocess, sys
        command = [sys.executable, "-I", "-c", sys.argv[2], str(os.getpid())]
        subprocess.Popen(command, env={{}}, pass_fds=({held},)).wait()
    """)
    host = spawn(host_script, zygote_script, keep=(held,))
    os.close(held)
    with os.fdopen(lifeline, "rb", buffering=0) as line:
        ready = sorted(next_byte(line.fileno()) for _ in range(2))
        host.send_signal(signal.SIGKILL)
        # Only host, zygote and worker hold the other end: it closes when all three are gone.
        end = next_byte(line.fileno())
    finish(host)
    assert (ready, end, host.returncode) == ([b"w", b"z"], b"", -signal.SIGKILL)


def test_killing_the_zygote_kills_its_worker() -> None:
    need("death_signal")
    lifeline, held = os.pipe()
    subject = spawn(
        zygote(keep=(held,))
        + dedent(f"""
            never, _open = socket.socketpair()
            confine_zygote(kernel)
            zygote = os.getpid()
            if os.fork() == 0:
                confine_worker(1 << 30, zygote, kernel=kernel)
                os.write({held}, b"w")
            never.recv(1)
        """),
        keep=(held,),
    )
    os.close(held)
    with os.fdopen(lifeline, "rb", buffering=0) as line:
        ready = next_byte(line.fileno())
        subject.send_signal(signal.SIGKILL)
        end = next_byte(line.fileno())
    finish(subject)
    assert (ready, end) == (b"w", b"")


def test_a_process_whose_parent_is_already_gone_ends_at_once() -> None:
    need("death_signal")
    subject = spawn(zygote().replace("int(sys.argv[1])", "1 << 30"))
    finish(subject)
    assert subject.returncode == -signal.SIGKILL


def test_a_second_thread_is_named_as_the_reason_for_missing_namespaces() -> None:
    need("namespaces")
    script = f"import os, sys, threading; sys.path.insert(0, {RUNTIME!r})\n" + dedent("""
        from codemode_runtime.confine import prepare_zygote
        from codemode_runtime.confine.kernel import this_kernel
        class Unprivileged:
            machine = this_kernel().machine
            def call(self, name, *arguments):
                if name == "unshare" and not arguments[0] & 0x10000000:
                    raise PermissionError(1, "unshare: EPERM")
                return this_kernel().call(name, *arguments)
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        layer = prepare_zygote([], int(sys.argv[1]), Unprivileged())[3]
        print(layer.status, layer.detail, flush=True)
        os._exit(0)
    """)
    output = finish(spawn(script))
    assert output == b"failed unshare: there is more than one thread\n"


def test_a_probe_leaves_the_caller_as_it_was() -> None:
    script = PROBING + dedent("""
        def privileges():
            with open("/proc/self/status") as status:
                return [line for line in status if line.startswith(("Cap", "NoNewPrivs", "Seccomp"))]
        before, descriptors = privileges(), os.listdir("/proc/self/fd")
        names = [layer.name for layer in probe()]
        print(len(names), privileges() == before, os.listdir("/proc/self/fd") == descriptors)
    """)
    assert finish(spawn(script)) == f"{len(system_layers())} True True\n".encode()


def test_a_probe_whose_trial_process_dies_says_so() -> None:
    script = PROBING + dedent("""
        class Deadly:
            machine = "x86_64"
            def call(self, name, *arguments):
                if name == "capset":
                    os.kill(os.getpid(), signal.SIGTERM)
                raise OSError(errno.ENOSYS, "nothing here")
        for layer in probe(Deadly()):
            print(layer.name, layer.status, layer.detail, sep=": ")
    """)
    assert finish(spawn(script)).decode().splitlines() == [
        "descriptors: missing: nothing here",
        "environment: active: empty",
        "no_new_privs: missing: nothing here",
        "namespaces: missing: nothing here",
        "death_signal: missing: nothing here",
        "process: failed: the trial process was killed by SIGTERM",
    ]


def next_byte(descriptor: int) -> bytes:
    """One byte or the end, whichever comes; neither within our patience is a failure."""
    readable, _, _ = select.select([descriptor], [], [], PATIENCE_SECONDS)
    assert readable
    return os.read(descriptor, 1)
