"""Each example runs as it is, in an interpreter that treats warnings as errors."""

import pytest

from tests.harness.processes import PROJECT, python

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
