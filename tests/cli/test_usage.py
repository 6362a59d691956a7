"""What cannot be carried out: one clear line on stderr that says what to do, and exit code 2."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from codemode.cli import COMMANDS
from tests.harness.cli import TOOLS, Cli

pytestmark = pytest.mark.usefixtures("leaves_nothing")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "codemode: name a command."),
        (("rnu",), "there is no command 'rnu'. Did you mean \"run\"?"),
        (("run",), "one of the arguments FILE -e/--eval is required"),
        (("run", "-e", "1", "--nope"), "there is no option --nope."),
        (("run", "--tols", "x", "-e", "1"), 'there is no option --tols. Did you mean "--tools"?'),
        (("run", "--tols=x", "-e", "1"), 'there is no option --tols. Did you mean "--tools"?'),
        (("run", "-x", "3", "-e", "1"), "there is no option -x."),
        (("run", "gone.js"), "gone.js: cannot be read: No such file or directory"),
        (("run", "large.js"), "large.js: has more than 4194304 bytes"),
        (("run", "-e", "1", "--config", "settings.json"), "settings.json: settings must be an object"),
        (("run", "bad.js"), "bad.js: is not UTF-8 text"),
        (("run", "-e", "1", "--timeout", "soon"), "'soon' is not a time such as 10, 500ms or 2m"),
        (("run", "-e", "1", "--memory", "64X"), "'64X' is not a size such as 65536, 64k or 10M"),
        (("run", "-e", "1", "--no-wait"), "--no-wait needs --store PATH"),
        (("run", "-e", "1", "--store", "no/where.sqlite"), "name a file in a folder that exists"),
        (("run", "-e", "1", "--config", "gone.json"), "gone.json: cannot be read"),
        (("run", "-e", "1", "--config", "wrong.json"), 'unknown key. Did you mean "timeoutMs"?'),
        (("run", "-e", "1", "--mcp", "wrong.json"), "has no mcpServers object"),
        (("run", "-e", "1", "--tools", "gone.py:tools"), "there is no file gone.py"),
        (("run", "-e", "1", "--tools", "no_such_module_:x"), "cannot be imported: ModuleNotFoundError"),
        (("run", "-e", "1", "--tools", "broken.py"), "cannot be imported: ZeroDivisionError at broken.py:1"),
        (("run", "-e", "1", "--tools", "empty.py"), "nothing in it is made with @tool"),
        (("run", "-e", "1", "--tools", f"{TOOLS}:tolls"), 'has no tolls. Did you mean "tools"?'),
        (("run", "-e", "1", "--tools", f"{TOOLS}:no_tool"), "is neither a tool, a function nor a known tool"),
        (("run", "-e", "1", "--tools", ":tools"), "name a module or a file"),
        (("run", "-e", "1", "--namespaces", f"{TOOLS}:tools"), "must be an object: plugin id to a list of"),
        (("run", "-e", "1", "--namespaces", f"{TOOLS}:nope"), "--namespaces"),
        (("wait", "run_1"), "give --store PATH"),
        (("wait", "run_1", "--store", "gone.sqlite"), "there is no such file"),
        (("runs",), "give --store PATH"),
        (("runs", "remove", "run_1", "--store", "empty.py"), "invalid choice: 'remove'"),
        (("runs", "show", "--store", "empty.py"), "show needs a RUN"),
        (("trace", "gone.json"), "the file cannot be opened"),
        (("trace", "wrong.json"), "This is no trajectory that can be read"),
        (("types", "ehco", "--tools", TOOLS), 'there is no such tool or server. Did you mean "echo"?'),
        (("serve",), "say what is spoken: --http HOST:PORT, --mcp or --stdio"),
        (("serve", "--stdio", "--http", "127.0.0.1:80"), "--http does not go with --stdio"),
        (("serve", "--mcp", "--http", "80"), "'80' is not HOST:PORT"),
    ],
)
def test_bad_input_is_refused_with_what_to_do(
    cli: Cli, tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    (tmp_path / "bad.js").write_bytes(b"\xff\xfe")
    (tmp_path / "large.js").write_bytes(b" " * (4 << 20) + b"1")
    (tmp_path / "settings.json").write_text('{"settings": 5}')
    (tmp_path / "wrong.json").write_text('{"timeoutMS": 5}')
    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "empty.py").write_text("")
    done = cli(*arguments)
    assert problem in done.err
    assert (done.code, done.out) == (2, "")


def test_a_store_that_is_none_is_unavailable_and_left_alone(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("these are notes, and no database" * 40)
    done = cli("run", "-e", "1", "--store", "notes.txt")
    assert done.code == 4
    assert "is not an SQLite database; name another file" in done.err
    assert (tmp_path / "notes.txt").read_text().startswith("these are notes")


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_with_examples(cli: Cli, command: str) -> None:
    done = cli(command, "--help")
    assert (done.code, done.err) == (0, "")
    assert f"  codemode {command}" in done.out.partition("examples:")[2]


def test_the_help_names_every_command_and_the_version_is_the_packages(cli: Cli) -> None:
    told = cli("--help")
    assert (told.code, told.err) == (0, "")
    assert [name for name in COMMANDS if f"\n  {name} " not in told.out] == []
    assert cli("--version").out == f"codemode {version('codemode')}\n"


def test_tools_come_from_a_module_of_the_folder_where_the_command_is_called(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "shop_for_cli_tests"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "things.py").write_text(
        "class Shop:\n    @staticmethod\n    def price(name: str) -> int:\n        return 7\n"
    )
    program = "return await tools.price({ name: 'tea' })"
    assert cli("run", "-e", program, "--tools", "shop_for_cli_tests.things:Shop.price").out == "7\n"


FLEET = """
from codemode import namespace_tool, tool

@tool(source="plugin", owner="fleet")
async def ship_find(name: str = "") -> list[str]:
    return [name]

def scope(context):
    return {"find": namespace_tool("ship_find")}

own = {"id": "fleet.v1", "globalName": "fleet", "requiredToolNames": ["ship_find"], "createScope": scope}
parts = {"fleet": [own]}
"""


def test_namespaces_come_from_a_file_as_tools_do(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "fleet_for_cli.py").write_text(FLEET)
    given = ("--tools", "fleet_for_cli.py", "--namespaces", "fleet_for_cli.py:parts")
    assert cli("run", "-e", "return await fleet.find({ name: 'Ark' })", *given).out == '["Ark"]\n'


def test_a_program_may_begin_with_a_dash_and_short_options_may_stand_together(cli: Cli) -> None:
    assert cli("run", "-e", "-1; return 2").out == "2\n"
    assert cli("run", "-qe", "return 3").out == "3\n"
