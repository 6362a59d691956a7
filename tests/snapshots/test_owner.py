"""Who counts as alive: asked about real processes, and about facts no living process can have."""

import os
import subprocess
import sys

import pytest
from codemode_snapshots import Owner, is_alive, new_owner
from msgspec.structs import replace

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="start times come from /proc")


def test_this_process_is_alive_and_each_engine_has_its_own_id() -> None:
    first, second = new_owner(), new_owner()
    assert is_alive(first)
    assert first.engine_id != second.engine_id
    assert first.pid == second.pid == os.getpid()


def test_an_owner_survives_its_text_form() -> None:
    here = new_owner()
    assert Owner.decode(here.encode()) == here
    bare = Owner("aa", 1, "", "", "")
    assert Owner.decode(bare.encode()) == bare


@needs_proc
def test_a_reused_pid_does_not_pass_for_its_former_owner() -> None:
    assert not is_alive(replace(new_owner(), started="1"))


@needs_proc
def test_an_owner_from_before_a_reboot_is_dead() -> None:
    assert not is_alive(replace(new_owner(), boot="0" * 32))


@needs_proc
def test_an_owner_in_another_container_counts_as_alive() -> None:
    assert is_alive(replace(new_owner(), pid=2**22 + 1, namespace="1"))


def test_an_owner_of_whom_only_the_pid_is_known_is_judged_by_it() -> None:
    bare = replace(new_owner(), started="", boot="", namespace="")
    assert is_alive(bare)
    assert not is_alive(replace(bare, pid=2**22 + 1))


@needs_proc
def test_a_killed_process_is_dead_before_and_after_it_is_reaped() -> None:
    program = "from codemode_snapshots import new_owner; print(new_owner().encode(), flush=True); input()"
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    owner = Owner.decode(child.stdout.readline().rstrip("\n"))
    assert is_alive(owner)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # a zombie now
    assert not is_alive(owner)
    child.communicate(timeout=60)
    assert not is_alive(owner)
