"""`make coverage` sees the lines that confined checkers run, though no host imports them."""

from pathlib import Path

import codemode_runtime
from coverage import CoverageData

from tests.harness.processes import MEASURED, python

WORKER = Path(codemode_runtime.__file__).with_name("checker.py")
TEST = "tests/workers/test_supervisor_legs.py::test_module_access_is_refused_with_its_position"


def test_the_lines_of_a_confined_worker_are_measured(tmp_path: Path) -> None:
    measured = ("coverage", "run", "--data-file", tmp_path / "data", "-m", "pytest", "-q")
    plugins = ("-p", "no:cacheprovider", "-p", "tests.harness.worker_lines")
    done = python("-m", *measured, *plugins, TEST, without=MEASURED)
    assert done.returncode == 0, done.stdout
    ran = {line for path in tmp_path.iterdir() for line in lines_in(path)}
    text = WORKER.read_text().splitlines()
    assert "code = prepare(order.program, order.language, allow={order.language}).code" in {
        text[line - 1].strip() for line in ran
    }
    assert 'raise FrameRefused("a checker runs no program")' not in "".join(text[line - 1] for line in ran)


def lines_in(path: Path) -> list[int]:
    data = CoverageData(str(path))
    data.read()
    return data.lines(str(WORKER)) or []
