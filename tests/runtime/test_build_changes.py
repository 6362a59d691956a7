"""The lines of the engine that are changed before it is compiled."""

from pathlib import Path

import pytest
from changes import CHANGED_FILE, CHANGES, write_changed
from source import BuildError

ENGINE = "\n".join(change.before for change in CHANGES)


def test_every_change_is_made_and_the_rest_stays_as_it_was(tmp_path: Path) -> None:
    (tmp_path / CHANGED_FILE).write_text(f"first\n{ENGINE}\nlast")
    write_changed(tmp_path, tmp_path / "changed")
    changed = "\n".join(change.after for change in CHANGES)
    assert (tmp_path / "changed" / CHANGED_FILE).read_text() == f"first\n{changed}\nlast"


@pytest.mark.parametrize("text", ["", ENGINE.replace("parse_func_call2", "other"), ENGINE + ENGINE])
def test_an_engine_that_a_change_does_not_fit_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / CHANGED_FILE).write_text(text)
    with pytest.raises(BuildError) as refused:
        write_changed(tmp_path, tmp_path / "changed")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "changed").exists()
