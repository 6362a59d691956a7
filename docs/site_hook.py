"""Makes the site out of the pages as they are: what they link to in the rest of the repository comes along.

Pages of the repository (the map, the change log …) become pages of the site; a link to any other file of it
becomes plain text, because the site has no copy of the code. A link that leads nowhere stays, and fails the
strict build.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

PROJECT = Path(__file__).resolve().parent.parent
# in the repository: on the site
PAGES = {
    "README.md": "project/readme.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "bench/README.md": "project/bench.md",
    "runtime/README.md": "project/runtime.md",
    "snapshots/FORMAT.md": "project/snapshot-format.md",
    "tests/hostile/README.md": "project/hostile-programs.md",
}
_PLACES = {site: place for place, site in PAGES.items()}
_LINK = re.compile(r"(!?)\[([^\]\n]*(?:\n[^\]\n]*)?)\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)


def on_config(config: Any) -> Any:
    pages = sorted((PROJECT / "docs" / "decisions").glob("*.md"))
    config["nav"].append({"Decisions": [f"decisions/{page.name}" for page in pages]})
    return config


def on_files(files: Any, config: Any) -> Any:
    for place, site in PAGES.items():
        files.append(File.generated(config, site, abs_src_path=str(PROJECT / place)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    own = _PLACES.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    parts: list[str] = []
    at = 0
    for fence in _FENCE.finditer(markdown):
        parts += [_relinked(markdown[at : fence.start()], own, page.file.src_uri), fence.group()]
        at = fence.end()
    return "".join((*parts, _relinked(markdown[at:], own, page.file.src_uri)))


def _relinked(text: str, own: str, site: str) -> str:
    def replaced(link: re.Match[str]) -> str:
        is_picture, words, target = link.groups()
        if "://" in target or target.startswith(("#", "mailto:")):
            return link.group()
        path, mark, anchor = target.partition("#")
        place = posixpath.normpath(posixpath.join(posixpath.dirname(own), path))
        found = PAGES.get(place) or (place.removeprefix("docs/") if place.startswith("docs/") else None)
        if found is not None and not place.endswith(".py"):
            is_folder = (PROJECT / place).is_dir()
            back = posixpath.relpath(found, posixpath.dirname(site) or ".")
            return words if is_folder else f"{is_picture}[{words}]({back}{mark}{anchor})"
        return words if (PROJECT / place).exists() else link.group()

    return _LINK.sub(replaced, text)
