"""What a wheel says of other people's work in it: pinned versions, and licences in their own words."""

from importlib.metadata import version
from pathlib import Path

import make_runner
import sbom
from compiler import BABEL
from source import QUICKJS


def test_every_pinned_source_is_named_with_its_hash_and_where_it_is(tmp_path: Path) -> None:
    found = {one.name: one for one in sbom.components(version("ziglang"))}
    assert found["quickjs-ng"].version == QUICKJS.version
    assert {found[name].sha256 for name in ("quickjs-ng", "zstd", BABEL.name)} == {
        QUICKJS.sha256,
        make_runner.ZSTD.sha256,
        BABEL.sha256,
    }
    told = sbom.document([*found.values()], "1.2.3")
    assert (told["bomFormat"], told["metadata"]["component"]["version"]) == ("CycloneDX", "1.2.3")
    assert [one["name"] for one in told["components"]] == [
        "quickjs-ng", "zstd", "@babel/parser", "wasi-libc", "compiler-rt",
    ]  # fmt: skip


def test_licences_are_in_their_authors_words(tmp_path: Path) -> None:
    bom, licences = sbom.write(tmp_path, "1.2.3", version("ziglang"))
    text = licences.read_text()
    assert "Copyright (c) 2017-2026 Fabrice Bellard" in text
    assert "For Zstandard software" in text
    assert "by various contributors (see AUTHORS)" in text
    assert bom.name == sbom.SBOM
