"""What a worker of the native runner can still do, tried from inside, and what the kernel shows of it."""

from __future__ import annotations

import errno
import os
import re
import signal
from pathlib import Path

import pytest
from codemode_runtime import native, wire

from codemode.workers.errors import WorkerLost
from tests.harness.runner import probing_image
from tests.harness.workers import start, supervisor

pytestmark = [
    pytest.mark.usefixtures("leaves_nothing"),
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="confinement is Linux's"),
]

REFUSED = {
    "open a file": errno.EACCES,
    "look at a file": errno.EACCES,
    "write a file": errno.EACCES,
    "take more memory": errno.ENOMEM,
}
FATAL = (
    "make a socket", "make a pair", "fork a process", "run a program", "signal the zygote",
    "signal everybody", "trace the zygote", "map code", "make code", "map shared memory", "raise a limit",
    "become dumpable", "pass a descriptor", "read a shared file", "make a namespace", "change flags",
)  # fmt: skip


@pytest.fixture
def probing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "FOLDER", probing_image(tmp_path))


@pytest.mark.usefixtures("probing")
@pytest.mark.guarantee("workers-are-confined")
@pytest.mark.parametrize("act", REFUSED)
async def test_a_worker_is_refused(act: str) -> None:
    async with supervisor() as found:
        with await found.lease() as worker:
            outcome = await start(worker, f"probe:{act}")
    assert isinstance(outcome, wire.Done)
    assert int(bytes(outcome.result.value)) == REFUSED[act]


@pytest.mark.usefixtures("probing")
@pytest.mark.guarantee("workers-are-confined")
@pytest.mark.parametrize("act", FATAL)
async def test_a_worker_is_killed_by_the_attempt_to(act: str) -> None:
    async with supervisor() as found:
        with await found.lease() as worker, pytest.raises(WorkerLost) as lost:
            await start(worker, f"probe:{act}")
        assert lost.value.status == -signal.SIGSYS
        with await found.lease() as worker:  # the others are not concerned
            assert isinstance(await start(worker, "return 1"), wire.Done)


@pytest.mark.usefixtures("probing")
async def test_without_confinement_the_same_attempts_succeed() -> None:
    async with supervisor(confinement="off") as found:
        for act in ("open a file", "make a socket", "map code", "make a pair", "change flags"):
            with await found.lease() as worker:
                outcome = await start(worker, f"probe:{act}")
            assert isinstance(outcome, wire.Done), act
            assert bytes(outcome.result.value) == b"0", act


@pytest.mark.guarantee("workers-are-confined")
async def test_the_kernel_shows_every_layer_of_a_worker() -> None:
    async with supervisor() as found:
        assert {layer.status for layer in found.stats().confinement} == {"active"}
        with await found.lease() as worker:
            await start(worker, "return await tools.call('x')")
            assert worker.pid is not None
            status, maps = (read(worker.pid, name) for name in ("status", "maps"))
            targets = open_files(worker.pid)
            environment = read(worker.pid, "environ")
    shown = dict(re.findall(r"^(\w+):\t(.*)$", status, re.MULTILINE))
    assert (shown["NoNewPrivs"], shown["Seccomp"], shown["Threads"]) == ("1", "2", "1")
    assert {shown[name] for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == {"0" * 16}
    assert [row for row in maps.splitlines() if re.search(r" .w.?x|r?wx", row.split(None, 2)[1])] == []
    # its socket, and what all workers share: nothing, three times, and the compiled code, which none may read
    assert targets.count("/dev/null") == 3
    assert [bool(re.search(r"^socket:|\.cwasm$", target)) for target in targets[3:]] == [True, True]
    assert environment == ""


def open_files(pid: int) -> list[str]:
    return [
        os.readlink(path)
        for path in sorted(Path(f"/proc/{pid}/fd").iterdir(), key=lambda path: int(path.name))
    ]


def read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except PermissionError:
        pytest.skip("only root may look at a process that is not dumpable")
