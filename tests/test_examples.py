"""Each example runs as it is, in an interpreter that treats warnings as errors."""

import subprocess
import sys

import pytest

from tests.harness.processes import PROJECT, environment, python
from tests.harness.serve import node

EXAMPLES = PROJECT / "examples"


def run(name: str) -> str:
    done = python("-W", "error", EXAMPLES / name)
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


@pytest.mark.guarantee("resume-in-another-process")
def test_the_demo_kills_its_engine_and_another_process_finishes_the_run() -> None:
    printed = run("demo.py").splitlines()
    hosts = [line.split()[1] for line in printed if line.startswith("  host ")]
    first, second = dict.fromkeys(hosts)
    assert hosts == [first] * hosts.count(first) + [second] * hosts.count(second)
    ending = "completed: {'total': 2940, 'shipped': {'courier': 'bike', 'parcels': 2}}"
    assert f"  host {second}  {ending}" in printed
    tree = "\n".join(printed[printed.index("The run, over both engines:") :])
    for name in ("list_orders", "check_stock", "quote_price", "book_courier"):
        assert name in tree


def test_the_second_act_mends_a_repository_and_commits_when_somebody_approved_after_a_kill() -> None:
    printed = run("workspace_demo.py")
    assert "tests before: exit code 1" in printed
    assert "tests after: exit code 0" in printed
    assert "waits for an approval: Run the command: git commit -qam 'Totals are whole cents'" in printed
    assert "completed: git answered 0" in printed
    assert " Totals are whole cents\n" in printed.partition("git log:")[2]


@pytest.mark.parametrize("name", sorted(path.stem for path in (EXAMPLES / "adapters").glob("*_*.py")))
def test_each_adapter_suspends_a_program_and_finishes_it_with_a_scripted_model(name: str) -> None:
    assert run(f"adapters/{name}.py") == "Shipped by bike, 2 parcels, 2240 cents.\n"


GALLERY = {
    "fastapi_host.py": "totals: [1250, 1000]\n"
    "approved by another user: False by its own: True\nthen: A-1 paid back\n",
    "langgraph_agent.py": "asked: pay\nDone: paid 1250\n",
    "tool_search_only.py": "the model sees: ['tool_search', 'tool_describe', 'tool_call']\n"
    "it finds: openclaw:core:report_7\nit gets: report 7 for May\n",
}


@pytest.mark.parametrize("name", GALLERY)
def test_an_example_of_the_gallery_prints_what_it_says(name: str) -> None:
    assert run(f"gallery/{name}") == GALLERY[name]


def test_a_host_in_node_is_asked_and_gets_its_result() -> None:
    command = [
        node(),
        str(EXAMPLES / "gallery" / "node_host.mjs"),
        sys.executable,
        "-m",
        "codemode",
        "serve",
        "--stdio",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=PROJECT, env=environment(), timeout=60)
    assert (done.stdout, done.returncode) == ('asked: openclaw:core:order\ncompleted ["cups ordered"]\n', 0)


def test_a_program_begins_at_one_node_and_ends_at_another(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEMODE_STORE_KEY", "11" * 32)
    done = python(EXAMPLES / "gallery" / "three_nodes.py", database)
    assert (done.stderr, done.returncode) == ("", 0)
    lines = done.stdout.splitlines()
    assert lines[1:3] == ["node a: waiting", "node a is killed"]
    assert "completed {'parts': [1, 4, 9], 'by': '" in lines[-1]
    assert lines[-1][-3] in "bc"


@pytest.mark.timeout(200)
def test_a_nightly_job_on_dbos_ends(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dbos", reason="DBOS is no part of the development environment")
    monkeypatch.setenv("CODEMODE_STORE_KEY", "11" * 32)
    done = python(EXAMPLES / "gallery" / "nightly_dbos.py", database)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["billed 600 cents"]), done.stderr


def test_every_example_is_on_the_page_that_lists_them() -> None:
    page = (EXAMPLES / "README.md").read_text()
    for path in (EXAMPLES / "gallery").iterdir():
        assert f"`gallery/{path.name}`" in page or path.name.startswith("__")
