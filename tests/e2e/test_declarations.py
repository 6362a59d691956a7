"""Declarations of real servers, and programs against them, by the real TypeScript compiler."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.npm_servers import server_script
from tests.harness import npm
from tests.harness.engine import engine, value_of
from tests.harness.mcp_servers import servers

pytestmark = [pytest.mark.usefixtures("leaves_nothing"), pytest.mark.seconds(110)]
TYPESCRIPT = "typescript@5.9.3"
PLAYWRIGHT = "@playwright/mcp@0.0.78"
FILES = """
const { files } = await API.list();
return await Promise.all(files.map(async ({ path }) => [path, (await API.read(path)).content]));
"""
PROGRAM = """
async function use(): Promise<void> {
  const found: { content: string } = await MCP.files.readTextFile({ path: "/a", head: 3 });
  const graph = await MCP.memory.readGraph({});
  const names: string[] = graph.entities.map((entity) => entity.name);
  await MCP.browser.browserNavigate({ url: "https://example.com" });
  const weather: number = (await MCP.everything.getStructuredContent({ location: "Chicago" })).temperature;
  // @ts-expect-error a parameter that is not there
  await MCP.files.readTextFile({ pfad: "/a" });
  // @ts-expect-error a value that is not listed
  await MCP.everything.getStructuredContent({ location: "Oslo" });
  void [found, names, weather];
}
void use;
"""


async def test_the_typescript_compiler_accepts_declarations_of_four_servers_and_checks_programs_by_them(
    tmp_path: Path,
) -> None:
    compiler = npm.installed_or_skip(TYPESCRIPT) / "typescript" / "bin" / "tsc"
    given = servers(
        everything=_command("everything", "stdio"),
        files=_command("filesystem", str(tmp_path)),
        memory=_command("memory"),
        browser=_playwright(),
    )
    async with engine((), mcp=given) as made:
        files: list[tuple[str, str]] = value_of(await made.exec(FILES))
    assert [path for path, _ in files] == [
        "mcp/index.d.ts",
        "mcp/browser.d.ts",
        "mcp/everything.d.ts",
        "mcp/files.d.ts",
        "mcp/memory.d.ts",
    ]
    assert _compile(compiler, tmp_path, files) == ""


def _command(name: str, *arguments: str) -> dict[str, Any]:
    node, script = server_script(name)
    return {"command": node, "args": [script, *arguments]}


def _playwright() -> dict[str, Any]:
    script = npm.installed_or_skip(PLAYWRIGHT) / "@playwright" / "mcp" / "cli.js"
    return {"command": npm.node(), "args": [str(script), "--headless"]}


def _compile(compiler: Path, folder: Path, files: list[tuple[str, str]]) -> str:
    """What the compiler complains about, strictly, and with every declaration checked."""
    for path, content in (*files, ("program.ts", PROGRAM)):
        place = folder / "types" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
    sources = [str(folder / "types" / path) for path in (*(path for path, _ in files), "program.ts")]
    options = ["--noEmit", "--strict", "--skipLibCheck", "false", "--target", "es2022"]
    command = [npm.node(), str(compiler), *options, *sources]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)
    return done.stdout + done.stderr
