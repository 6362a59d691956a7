"""The command line in this process, in a folder of its own."""

import sys
from pathlib import Path

import pytest

from tests.harness.cli import Cli


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # the folder of a tools file is added to it
    return Cli(capsys)
