"""What a wheel carries that others wrote: a CycloneDX document, and their licences, out of their sources.

Made from the same pins and archives as the binaries, so that it cannot name another version.
"""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

import make_runner
import source
from compiler import BABEL, fetch_package
from source import QUICKJS, Pin

SBOM, LICENCES = "codemode.cdx.json", "THIRD_PARTY_LICENSES.txt"
_ZIG = "ziglang"


class Component(NamedTuple):
    name: str
    version: str
    licence: str  # SPDX
    purl: str
    sha256: str  # of the archive that it was built from; empty if it came with the compiler
    within: str  # the file of the wheel that it is in
    text: str  # its licence, in its authors' words


def components(zig: str) -> list[Component]:
    """What a wheel carries; `zig` is the version of the compiler."""
    wasi = "https://github.com/WebAssembly/wasi-libc"
    return [
        Component(
            "quickjs-ng",
            QUICKJS.version,
            "MIT",
            f"pkg:pypi/{QUICKJS.package}@{QUICKJS.version}",
            QUICKJS.sha256,
            "guest.wasm",
            _first_comment(_member(QUICKJS, "quickjs.c")),
        ),
        Component(
            "zstd",
            _zstd_version(),
            "BSD-3-Clause",
            f"pkg:pypi/{make_runner.ZSTD.package}@{make_runner.ZSTD.version}",
            make_runner.ZSTD.sha256,
            make_runner.NAME,
            _member(make_runner.ZSTD, "LICENSE"),
        ),
        Component(
            BABEL.name,
            BABEL.version,
            "MIT",
            f"pkg:npm/{BABEL.name.replace('@', '%40')}@{BABEL.version}",
            BABEL.sha256,
            "typescript.js",
            _babel_licence(),
        ),
        Component(
            "wasi-libc",
            f"of zig {zig}",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
            f"pkg:pypi/{_ZIG}@{zig}",
            "",
            "guest.wasm",
            f"MIT, or Apache-2.0 with or without the exception of LLVM; see {wasi}. Parts of musl, MIT.",
        ),
        Component(
            "compiler-rt",
            f"of zig {zig}",
            "MIT",
            f"pkg:pypi/{_ZIG}@{zig}",
            "",
            "guest.wasm",
            "MIT, with zig.",
        ),
    ]


def document(found: list[Component], version: str) -> dict[str, Any]:
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "name": "codemode",
                "version": version,
                "purl": f"pkg:pypi/codemode@{version}",
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": [_entry(one) for one in found],
    }


def write(folder: Path, version: str, zig: str) -> tuple[Path, Path]:
    """Writes both files; the document and the licences."""
    found = components(zig)
    texts = [f"{one.name} {one.version} (in {one.within})\n\n{one.text.strip()}\n" for one in found]
    bom, licences = folder / SBOM, folder / LICENCES
    source.write_whole(bom, json.dumps(document(found, version), indent=2).encode() + b"\n")
    source.write_whole(licences, f"\n{'-' * 80}\n\n".join(texts).encode())
    return bom, licences


def _entry(one: Component) -> dict[str, Any]:
    licence = {"expression": one.licence} if " " in one.licence else {"license": {"id": one.licence}}
    entry: dict[str, Any] = {
        "type": "library",
        "name": one.name,
        "version": one.version,
        "purl": one.purl,
        "licenses": [licence],
        "properties": [{"name": "codemode:file", "value": f"codemode_runtime/image/{one.within}"}],
    }
    if one.sha256:
        entry["hashes"] = [{"alg": "SHA-256", "content": one.sha256}]
    return entry


def _member(pin: Pin, name: str) -> str:
    """A file beside the C files of a source."""
    source.fetch(pin, source.cache())
    archive = source.cache() / pin.archive
    with tarfile.open(fileobj=io.BytesIO(archive.read_bytes())) as tar:
        for member in tar:
            path = Path(member.name)
            content = tar.extractfile(member)
            if path.name == name and path.parent.name == pin.subfolder and content is not None:
                return content.read().decode()
    raise source.BuildError(f"{pin.archive} has no {name}: its licence cannot be told")


def _first_comment(text: str) -> str:
    start, end = text.index("/*") + 2, text.index("*/")
    return "\n".join(line.removeprefix(" *").strip() for line in text[start:end].splitlines())


def _zstd_version() -> str:
    header = _member(make_runner.ZSTD, "zstd.h")
    parts = [
        header.split(f"#define ZSTD_VERSION_{part}", 1)[1].split(None, 1)[0]
        for part in ("MAJOR", "MINOR", "RELEASE")
    ]
    return ".".join(parts)


def _babel_licence() -> str:
    return fetch_package(BABEL, source.cache())[1]
