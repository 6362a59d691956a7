"""Commands: what they answer, which may run, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from codemode import CallContext, Engine, InvalidArguments, ToolError, Waiting
from codemode.toolbox import CommandRules, Commands, Workspace
from codemode.toolbox.command_rules import simple_words
from codemode.toolbox.output_tail import OutputTail
from codemode.tools import AnswerNeeded, FunctionTool
from tests.harness.engine import value_of
from tests.harness.loops import until

Run = Callable[..., Any]
WHO = CallContext(agent_id="a", session_id="s")
DAEMON = """
import os, time
for _ in range(2):
    if os.fork():
        os._exit(0)
    os.setsid()
time.sleep(7771)
"""
DEAF = """
import signal, time
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
time.sleep(7771)
"""
FREE = CommandRules(security="full", ask="off", output_bytes=4_096)


@asynccontextmanager
async def commands_in(folder: Path, rules: CommandRules = FREE) -> AsyncGenerator[Commands]:
    workspace = Workspace(folder)
    made = Commands(workspace, rules)
    try:
        yield made
    finally:
        await made.close()
        workspace.close()


def functions(commands: Commands) -> tuple[Run, Run]:
    run, process = commands.tools()
    assert isinstance(run, FunctionTool)
    assert isinstance(process, FunctionTool)
    return run.function, process.function


async def run(commands: Commands, command: str, **more: Any) -> dict[str, Any]:
    return await functions(commands)[0](command, WHO, **more)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo hello", {"status": "exited", "exitCode": 0, "output": "hello\n"}),
        ("exit 3", {"status": "exited", "exitCode": 3, "output": ""}),
        ("echo out; echo err >&2; false", {"status": "exited", "exitCode": 1, "output": "out\nerr\n"}),
        ("kill -SEGV $$", {"status": "exited", "signal": "SIGSEGV", "output": ""}),
        ("no_such_program", {"status": "exited", "exitCode": 127}),
        ("cat", {"status": "exited", "exitCode": 0, "output": ""}),
        ("printf 'a\\377b'", {"status": "exited", "exitCode": 0, "output": "a\ufffdb"}),
        ("pwd | sed 's|.*/||'", {"status": "exited", "exitCode": 0}),
    ],
)
async def test_a_command_tells_how_it_ended_and_what_it_said(
    command: str, expected: dict[str, Any], tmp_path: Path
) -> None:
    async with commands_in(tmp_path) as commands:
        found = await run(commands, command)
        assert {key: found[key] for key in expected} == expected


async def test_a_command_runs_in_its_folder_of_the_workspace(tmp_path: Path) -> None:
    async with commands_in(tmp_path) as commands:
        (tmp_path / "sub").mkdir()
        assert (await run(commands, "pwd"))["output"] == f"{tmp_path}\n"
        assert (await run(commands, "pwd", cwd="sub"))["output"] == f"{tmp_path}/sub\n"
        for cwd in ("..", "/etc", "nowhere"):
            with pytest.raises(ToolError):
                await run(commands, "pwd", cwd=cwd)


async def test_long_output_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    async with commands_in(tmp_path) as commands:
        found = await run(commands, "echo first; yes | head -c 10000000; echo last")
        assert found["output"].startswith("first\ny\n")
        assert found["output"].endswith("y\nlast\n")
        assert len(found["output"]) < 4_200
        assert found["omittedBytes"] == 10_000_000 + 11 - 4_096


async def test_the_environment_has_no_secrets_of_the_host(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with commands_in(tmp_path) as commands:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
        monkeypatch.setenv("LC_ALL", "C.UTF-8")
        found = (await run(commands, "env; tr '\\0' '\\n' < /proc/$PPID/environ"))["output"]
        assert "sk-secret" not in found
        assert "LC_ALL=C.UTF-8" in found


@pytest.mark.guarantee("commands-leave-nothing-behind")
@pytest.mark.skipif(sys.platform != "linux", reason="daemons are found by Linux's subreaper")
@pytest.mark.parametrize(
    "command",
    [
        "sleep 7771",
        "sleep 7771 & wait",
        "sleep 7771 &",
        "sleep 7771 & sleep 7771 & sleep 7771 & wait",
        "nohup sleep 7771 & wait",
        "nohup sleep 7771 > /dev/null 2>&1 &",
        "setsid sleep 7771",
        "setsid sleep 7771 &",
        "setsid -f sleep 7771",
        "(sleep 7771 &)",
        "(setsid sleep 7771 &)",
        "(setsid nohup sleep 7771 > /dev/null 2>&1 < /dev/null &)",
        "sh -c 'sh -c \"sleep 7771 & wait\" & wait' & wait",
        "trap '' TERM; sleep 7771",
        "trap '' TERM INT HUP; sleep 7771 & wait; sleep 7771",
        "sh -c 'trap \"\" TERM; while :; do sleep 7771; done'",
        "(setsid sh -c 'trap \"\" TERM; sleep 7771' &) ; sleep 7771",
        "exec sleep 7771",
        "exec setsid sleep 7771",
        "cat /dev/zero > /dev/null",
        "yes",
        "yes > /dev/null",
        "yes | sleep 7771",
        "sleep 7771 | sleep 7771 | sleep 7771",
        "kill -STOP $$; sleep 7771",
        "sleep 7771 & kill -STOP $!; wait",
        "for i in 1 2 3 4 5 6 7 8 9; do (setsid sleep 7771 &); done; sleep 7771",
        f"{sys.executable} daemon.py",
        f"{sys.executable} deaf.py",
        "while :; do (setsid sleep 7771 &); sleep 0.05; done",
    ],
)  # fmt: skip
async def test_no_process_of_a_command_outlives_it(command: str, tmp_path: Path) -> None:
    async with commands_in(tmp_path) as commands:
        (tmp_path / "daemon.py").write_text(DAEMON)
        (tmp_path / "deaf.py").write_text(DEAF)
        found = await run(commands, command, timeoutSeconds=0.3)
        assert found["status"] in ("exited", "timed_out")
        assert processes_in(tmp_path) == []


def processes_in(folder: Path) -> list[str]:
    """Processes whose working folder it is: every process of a command has it, unless it goes elsewhere."""
    found: list[str] = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if Path(os.readlink(f"/proc/{pid}/cwd")) == folder:
                found.append(Path(f"/proc/{pid}/cmdline").read_bytes().decode())
        except OSError:
            continue
    return found


@pytest.mark.parametrize("way", ["sleep 7775", "(setsid sleep 7775 &); sleep 7775"])
async def test_a_command_that_kills_its_guard_ends_all_the_same(tmp_path: Path, way: str) -> None:
    async with commands_in(tmp_path) as commands:
        found = await run(commands, f"kill -9 $PPID; {way}")
        assert found["status"] == "killed"
        assert processes_in(tmp_path) == []


async def test_a_cancelled_call_ends_its_command(tmp_path: Path) -> None:
    async with commands_in(tmp_path) as commands:
        call = asyncio.create_task(run(commands, "echo begun > begun; sleep 7772"))
        await until((tmp_path / "begun").exists)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert processes_in(tmp_path) == []


async def test_a_host_that_is_killed_takes_its_commands_with_it(tmp_path: Path) -> None:
    program = f"""
import asyncio
from codemode.toolbox import *
from codemode import CallContext
async def main():
    commands = Commands(Workspace({str(tmp_path)!r}), CommandRules(security="full", ask="off"))
    await commands.tools()[0].function("echo begun > begun; (setsid sleep 7773 &); sleep 7773", CallContext())
asyncio.run(main())
"""
    host = await asyncio.create_subprocess_exec(sys.executable, "-c", program)
    await until((tmp_path / "begun").exists)
    host.send_signal(signal.SIGKILL)
    await host.wait()
    await until(lambda: processes_in(tmp_path) == [])


async def test_background_processes_are_polled_fed_and_ended_by_their_own_session_only(
    tmp_path: Path,
) -> None:
    async with commands_in(tmp_path) as commands:
        execute, process = functions(commands)
        begun = await execute("while read line; do echo got $line; done; echo over", WHO, background=True)
        name = begun["processId"]
        assert begun["status"] == "running"
        stranger = CallContext(agent_id="a", session_id="another")
        assert await process("list", stranger) == {"processes": []}
        with pytest.raises(InvalidArguments, match=r"No process .* in this session. There are none"):
            await process("kill", stranger, processId=name)
        assert await process("write", WHO, processId=name, input="one\ntwo\n", closeInput=True) == {
            "written": 8
        }
        ended = (await process("poll", WHO, processId=name, waitSeconds=30))["process"]
        assert (ended["status"], ended["exitCode"], ended["output"]) == (
            "exited",
            0,
            "got one\ngot two\nover\n",
        )
        with pytest.raises(ToolError, match="input of this process is closed"):
            await process("write", WHO, processId=name, input="more")


async def test_background_processes_are_bounded_and_end_with_the_toolbox(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    commands = Commands(workspace, CommandRules(security="full", ask="off", max_background=3))
    execute, process = functions(commands)
    names = [(await execute("sleep 7774", WHO, background=True))["processId"] for _ in range(3)]
    with pytest.raises(ToolError, match="3 processes of this session run already"):
        await execute("sleep 7774", WHO, background=True)
    killed = (await process("kill", WHO, processId=names[0]))["process"]
    assert (killed["status"], killed["signal"]) == ("killed", "SIGTERM")
    await execute("sleep 7774", WHO, background=True)
    await commands.close()
    workspace.close()
    assert processes_in(tmp_path) == []


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("git status", ["git", "status"]),
        ("git commit -m 'two words; not three'", ["git", "commit", "-m", "two words; not three"]),
        ('echo "a b"', ["echo", "a b"]),
        *(
            (shell, None)
            for shell in (
                "git status; rm x", "git status && rm x", "git status | sh", "git status &", "git log > x",
                "cat < x", "git `rm x`", "git $(rm x)", 'git "$(rm x)"', 'git "`rm x`"', "git $IFS",
                "git\nrm x", "(git)", "{ git; }", "git 'open", "git \\; rm", "A=1 git", "git *", "~/git",
                "git #x", "git !x", "", "  ", "git \0",
            )
        ),
    ],
)  # fmt: skip
def test_a_command_is_simple_only_if_no_shell_is_needed(command: str, words: list[str] | None) -> None:
    assert simple_words(command) == words


@pytest.mark.parametrize(
    ("security", "ask", "command", "verdict"),
    [
        ("deny", "always", "git status", "refuse"),
        ("allowlist", "off", "git status", "run"),
        ("allowlist", "off", "git push", "refuse"),
        ("allowlist", "off", "git status; rm x", "refuse"),
        ("allowlist", "off", "gitk status", "refuse"),
        ("allowlist", "on-miss", "git push", "ask"),
        ("allowlist", "always", "git status", "ask"),
        ("full", "off", "rm -rf x", "run"),
        ("full", "on-miss", "rm -rf x", "ask"),
        ("full", "on-miss", "npm run build", "run"),
        ("full", "on-miss", "npm run build && rm x", "ask"),
        ("full", "on-miss", "npm run", "ask"),
    ],
)
def test_rules_say_what_runs_what_asks_and_what_is_refused(
    security: Any, ask: Any, command: str, verdict: str
) -> None:
    assert CommandRules(security, ask, ("git status", "npm run *")).judge(command) == verdict


async def test_a_refusal_says_what_is_allowed(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    execute, _ = functions(Commands(workspace, CommandRules(ask="off", allow=("git", "make test"))))
    with pytest.raises(
        ToolError, match=r"'rm x' is not one of the commands allowed.*Allowed: git, make test\."
    ):
        await execute("rm x", WHO)
    with pytest.raises(AnswerNeeded, match="Run the command: rm x"):
        await functions(Commands(workspace))[0]("rm x", WHO)
    workspace.close()


async def test_a_program_waits_for_a_person_and_then_the_command_runs(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    commands = Commands(workspace)
    async with Engine(commands.tools()) as engine:
        begun = await engine.exec(
            "return (await tools.exec({ command: 'echo yes > said; cat said' })).output"
        )
        assert isinstance(begun, Waiting)
        assert not (tmp_path / "said").exists()
        asked = begun.pending_tool_calls[0].approval
        assert asked is not None
        assert asked.summary == "Run the command: echo yes > said; cat said"
        assert await engine.approve(begun.run_id, asked.id)
        assert value_of(await engine.wait(begun.run_id)) == "yes\n"
        begun = await engine.exec("return await tools.exec({ command: 'rm said' }).catch((e) => e.code)")
        assert isinstance(begun, Waiting)
        asked = begun.pending_tool_calls[0].approval
        assert asked is not None
        assert await engine.deny(begun.run_id, asked.id)
        assert value_of(await engine.wait(begun.run_id)) == "denied"
        assert (tmp_path / "said").exists()
    await commands.close()
    workspace.close()


def test_what_is_kept_of_output_is_bounded_and_counted() -> None:
    kept = OutputTail(10)
    for number in range(1_000):
        kept.add(f"{number:03}".encode())
    assert kept.total == 3_000
    assert kept.omitted == 2_990
    assert kept.text() == "00000\n… 2990 bytes left out …\n98999"
    assert kept.newest(6) == "998999"
