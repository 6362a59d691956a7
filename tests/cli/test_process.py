"""The installed command as other programs start it: a few runs of the real thing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.cli import COMMAND, TOOLS, as_process
from tests.harness.grammar import problems
from tests.harness.mcp_servers import fast, servers
from tests.harness.processes import modules_after

pytestmark = pytest.mark.usefixtures("leaves_nothing")


def test_the_installed_command_prints_the_result_object() -> None:
    done = as_process("run", "-e", "return 1+1", "--json")
    assert (done.code, done.json["value"], done.err) == (0, 2, "")
    assert done.out.count("\n") == 1


def test_a_program_comes_from_standard_input_and_the_module_is_the_command_too() -> None:
    command = [sys.executable, "-m", "codemode", "run", "-", "--ts"]
    done = subprocess.run(command, input=b"return 7 as number", capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"7\n", b"")


def test_a_reader_that_goes_away_ends_the_command_quietly() -> None:
    program = "for (let n = 0; n < 9000; n++) text('a line of output ' + n)"
    with subprocess.Popen(
        [COMMAND, "run", "-e", program, "--max-output", "1M"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"a line of output 0\n"
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.parametrize("arguments", [("--help",), ("run", "--help"), ("run", "-e", "text(1); return 2")])
def test_output_that_nobody_reads_is_a_broken_pipe_also_where_python_buffers_it(
    arguments: tuple[str, ...],
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        [COMMAND, *arguments], stdout=writer, stderr=subprocess.PIPE, env=environment, timeout=60, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_command_without_a_standard_output_runs_and_a_full_disk_is_told() -> None:
    command = f"{COMMAND} run -e 'text(1); return 2'"
    closed = subprocess.run(["sh", "-c", f"{command} >&-"], capture_output=True, timeout=60, check=False)
    assert (closed.returncode, closed.stderr) == (0, b"")
    full = subprocess.run(["sh", "-c", f"{command} >/dev/full"], capture_output=True, timeout=60, check=False)
    assert (full.returncode, full.stderr) == (
        1,
        b"codemode run: the output cannot be written: No space left on device\n",
    )


def test_help_loads_neither_the_engine_nor_an_option_parser() -> None:
    loaded = modules_after("import codemode.cli; codemode.cli.main(['--help'])")
    assert loaded & {"argparse", "asyncio", "msgspec", "typing", "enum", "codemode.engine"} == set()


def test_types_of_tools_and_servers_parse_as_typescript(tmp_path: Path) -> None:
    (tmp_path / "servers.json").write_text(json.dumps(servers(fast=fast())))
    options = ("--tools", TOOLS, "--mcp", tmp_path / "servers.json")
    done = as_process("types", *options)
    assert (done.code, problems(done.out)) == (0, [])
    assert "  function pay(input: { amount: number }): Promise<string>;\n" in done.out
    assert "declare namespace MCP.fast {\n" in done.out
    named = as_process("types", *options, "fast.add", "tools.echo")
    assert problems(named.out) == []
    assert "function add(" in named.out
    assert "function echo(" in named.out
    assert "function pay(" not in named.out


def test_serve_speaks_mcp_and_prints_nothing_else() -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    with subprocess.Popen(
        [COMMAND, "serve", "--mcp", "--tools", TOOLS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(hello).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"]
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0


def test_a_user_without_a_home_runs_programs_and_the_doctor_says_what_it_costs() -> None:
    """As in a container that runs under any number: no HOME, and no entry in the table of users."""
    code = """
import pwd, sys
def getpwuid(uid):
    raise KeyError(uid)
pwd.getpwuid = getpwuid
from codemode.cli import main
sys.exit(main(sys.argv[1:]))
"""
    known = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")}

    def homeless(*arguments: str) -> tuple[int, str, str]:
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=known, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    assert homeless("run", "-e", "return 1 + 1") == (0, "2\n", "")
    code_of_doctor, told, _ = homeless("doctor")
    assert code_of_doctor in (0, 1)
    assert "this user has no home directory, so nothing is kept: each start compiles anew" in told
    relative = subprocess.run(
        [COMMAND, "run", "-e", "return 2"],
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": "not/absolute"},
        timeout=60,
        check=False,
    )
    assert (relative.stdout, Path("not").exists(), Path("/not").exists()) == ("2\n", False, False)
