"""The lines of the engine that are changed before it is compiled."""

from collections.abc import Callable
from pathlib import Path

import pytest
from changes import CHANGES, write_changed
from source import BuildError

FILES = sorted({change.file for change in CHANGES})
DAMAGES: dict[str, Callable[[str], str]] = {
    "empty": lambda text: "",
    "cut short": lambda text: text[:-20],
    "doubled": lambda text: text + text,
}


def engine(folder: Path) -> dict[str, str]:
    """Files that the changes fit, written to the folder; and what becomes of them."""
    changed: dict[str, str] = {}
    for name in FILES:
        changes = [change for change in CHANGES if change.file == name]
        (folder / name).write_text("\n".join(["first", *(change.before for change in changes), "last"]))
        changed[name] = "\n".join(["first", *(change.after for change in changes), "last"])
    return changed


def test_every_change_is_made_and_the_rest_stays_as_it_was(tmp_path: Path) -> None:
    expected = engine(tmp_path)
    assert sorted(write_changed(tmp_path, tmp_path / "changed")) == FILES
    assert {name: (tmp_path / "changed" / name).read_text() for name in FILES} == expected


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_an_engine_that_a_change_does_not_fit_is_refused_in_one_line(
    tmp_path: Path, name: str, damage: str
) -> None:
    engine(tmp_path)
    (tmp_path / name).write_text(DAMAGES[damage]((tmp_path / name).read_text()))
    with pytest.raises(BuildError, match=name) as refused:
        write_changed(tmp_path, tmp_path / "changed")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "changed").exists()
