"""The second act: a program mends a small repository with the standard tools, and asks before it commits.

The program looks for the mistake, runs the tests through `exec`, patches the file, runs them again, and asks
to commit. The engine is killed while it waits for the approval; another one goes on, and the commit is made.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from codemode import Engine, Waiting
from codemode.toolbox import CommandRules, Toolbox

FILES = {
    "shop.py": "def total(cents: list[int]) -> int:\n    return sum(cents) * 119 / 100\n",
    "test_shop.py": "import unittest\n\nfrom shop import total\n\n\nclass Totals(unittest.TestCase):\n"
    "    def test_cents(self) -> None:\n        self.assertEqual(str(total([105])), '125')\n",
}
PROGRAM = """\
const run = async (command) => (await tools.exec({ command, timeoutSeconds: 60 })).exitCode;
const { entries } = await tools.read({ path: "." });
const files = entries.filter((e) => e.type === "file");
const sources = await Promise.all(files.map((e) => tools.read({ path: e.name })));
const hit = sources.find((file) => /\\*\\s*119\\s*\\/\\s*100/.test(file.text));
text(`suspicious: ${hit.path}; tests before: exit code ${await run("python3 -m unittest -q")}`);
await tools.apply_patch({ patch: `*** Begin Patch
*** Update File: ${hit.path}
-    return sum(cents) * 119 / 100
+    return round(sum(cents) * 119 / 100)
*** End Patch` });
text(`tests after: exit code ${await run("python3 -m unittest -q")}`);
return await run("git commit -qam 'Totals are whole cents'");          // not on the list: a person is asked
"""
RULES = CommandRules(
    allow=("python3 -m unittest",),
    environment={
        **{f"GIT_{who}_{what}": "demo" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    },
)


def toolbox(folder: Path) -> Toolbox:
    return Toolbox("coding", workspace=folder / "repository", commands=RULES)


async def first(folder: Path) -> None:
    async with toolbox(folder) as box, Engine(box.tools, store=folder / "runs.sqlite") as host:
        result = await host.exec(PROGRAM, session="demo")
        assert isinstance(result, Waiting), result
        for item in result.output:
            if item.type == "text":
                say(f"output: {item.text}")
        (pending,) = result.pending_tool_calls
        assert pending.approval is not None
        say(f"waits for an approval: {pending.approval.summary}")
        say(f"kill -9 {os.getpid()}")
        os.kill(os.getpid(), signal.SIGKILL)


async def second(folder: Path) -> None:
    async with toolbox(folder) as box, Engine(box.tools, store=folder / "runs.sqlite") as host:
        (found,) = await host.runs()
        details = await host.run_info(found.run_id, session="demo")
        assert details is not None
        (asked,) = details.approvals
        say(f"a new engine finds {found.run_id}; somebody approves")
        await host.approve(found.run_id, asked.id, session="demo")
        result = await host.wait(found.run_id, session="demo")
        say(f"{result.status}: git answered {result.to_dict().get('value')}")


def say(text: str) -> None:
    print(f"  host {os.getpid()}  {text}", flush=True)


def main() -> None:
    print(f"\nThe second act, on a small repository:\n\n{PROGRAM}")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        repository = folder / "repository"
        repository.mkdir()
        for name, text in FILES.items():
            (repository / name).write_text(text)
        git = ["git", "-C", str(repository)]
        environment = {**os.environ, **RULES.environment}
        subprocess.run([*git, "init", "-q"], check=True, env=environment)
        subprocess.run([*git, "add", "."], check=True, env=environment)
        subprocess.run([*git, "commit", "-qm", "A shop"], check=True, env=environment)
        died = subprocess.run([sys.executable, __file__, "first", made], check=False)
        assert died.returncode == -signal.SIGKILL, died.returncode
        subprocess.run([sys.executable, __file__, "second", made], check=True)
        log = subprocess.run([*git, "log", "--oneline"], check=True, env=environment, capture_output=True)
        print(f"\ngit log:\n\n{log.stdout.decode()}", end="")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["first", path]:
            asyncio.run(first(Path(path)))
        case ["second", path]:
            asyncio.run(second(Path(path)))
        case _:
            main()
