"""Installs the peers from their registries, each into a folder of its own under bench/.peers.

No install script of a package is run. A peer that cannot be installed is missing, with the reason, and the
rest goes on.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from bench.side_by_side.lineup import Package, Subject, node

PATIENCE_SECONDS = 300


def install(subject: Subject) -> str | None:
    """What is missing, or None if the subject can run. Does nothing where the wanted version is there."""
    if subject.needs_node and node() is None:
        return "there is no Node: it comes with pyright[nodejs] in the development environment"
    package = subject.package
    if package is None or installed_version(subject) == package.version:
        return None
    subject.folder.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(
            _install_command(package, subject.folder),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{package.name} {package.version} could not be installed: {error}"
    if installed_version(subject) == package.version:
        return None
    errors = [line for line in done.stderr.splitlines() if "error" in line.lower()] or ["no reason given"]
    return f"{package.name} {package.version} could not be installed: {errors[-1].strip()[:160]}"


def _install_command(package: Package, folder: Path) -> list[str]:
    if package.registry == "pypi":
        wanted = f"{package.name}=={package.version}"
        return [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--upgrade",
            "--target",
            str(folder),
            wanted,
        ]
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"]
    return [*_npm(), "install", "--prefix", str(folder), *quiet, f"{package.name}@{package.version}"]


def _npm() -> list[str]:
    """npm of the same installation as node: its own first line would look for another node on the path."""
    found = node()
    assert found is not None
    script = found.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [str(found), str(script)] if script.exists() else ["npm"]


def installed_version(subject: Subject) -> str | None:
    package = subject.package
    if package is None:
        return None
    if package.registry == "npm":
        manifest = subject.folder / "node_modules" / package.name / "package.json"
        return json.loads(manifest.read_text())["version"] if manifest.exists() else None
    for found in metadata.distributions(name=package.name, path=[str(subject.folder)]):
        return found.version
    return None


def version_of(subject: Subject) -> str:
    """Of what is measured: the package, this project, or nothing but the runtime."""
    if subject.role == "ours":
        return metadata.version("codemode")
    return installed_version(subject) or ""


def runtime_of(subject: Subject) -> str:
    """What it runs on: the language runtime and its version."""
    if not subject.needs_node:
        return f"Python {sys.version.split()[0]}"
    command = [str(node()), "--version"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return f"Node {found.removeprefix('v')}"
