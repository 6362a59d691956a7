"""The code in README and docs runs, and prints what the page says; links lead somewhere."""

import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from codemode.contract.error_codes import ERROR_CODES
from codemode.executor import AfterToolCall, ApprovalRequest, AuditEvent, BeforeToolCall
from codemode.policy import GROUPS, PROFILES
from docs.check_blocks import check
from tests.docs_page import is_like, read_blocks
from tests.harness.processes import PROJECT, python

PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
RUNNABLE = [page for page in PAGES if read_blocks(page.read_text())]
RIGHT = """
<!--python
import asyncio
-->
```python
await asyncio.sleep(0)
print("a 7 b")
```

```text
a … b
```
```python file=one.py
print(1)
```
```console
$ .venv/bin/python one.py
1
$ not-run
```
```ts
text("said"); const one: number = 1; return one
```
```text
said
1
```
"""


def name_of(page: Path) -> str:
    return page.relative_to(PROJECT).as_posix()


@pytest.mark.parametrize("page", RUNNABLE, ids=name_of)
def test_the_code_of_a_page_runs_and_prints_what_it_says(page: Path, tmp_path: Path) -> None:
    done = run(page, tmp_path)

    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.parametrize("page", sorted({*PAGES, *PROJECT.glob("*.md")}), ids=name_of)
def test_each_link_of_a_page_leads_to_a_file_and_to_a_heading_in_it(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text())
    targets = [(page.parent / link if link else page, heading) for link, heading in links]
    assert [target for target, _ in targets if not target.exists()] == []
    assert [(name_of(target.resolve()), h) for target, h in targets if h and h not in headings(target)] == []


def headings(page: Path) -> set[str]:
    """As they are addressed in a link."""
    found = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", sorted((PROJECT / "docs").rglob("*.md")), ids=name_of)
def test_each_page_is_in_the_index(page: Path) -> None:
    index = PROJECT / "docs" / "README.md"
    folder = page.parent.relative_to(index.parent).as_posix()
    listed = re.findall(r"\]\(([^)#\s]+)", index.read_text())
    assert page == index or page.relative_to(index.parent).as_posix() in listed or f"{folder}/" in listed


def test_the_reference_and_the_tables_of_pages_are_what_the_code_makes_of_them() -> None:
    assert stale_pages(PROJECT / "docs") == [], "run docs/make_reference.py"


def test_a_number_changed_by_hand_in_a_page_makes_it_stale_and_writing_it_anew_mends_it(
    tmp_path: Path,
) -> None:
    docs = tmp_path / "docs"
    shutil.copytree(PROJECT / "docs", docs)
    for name, row in [("engine.md", "`queueLimit`"), ("guides/limits.md", "`timeoutMs`")]:
        page = docs / name
        page.write_text(page.read_text().replace(f"\n| {row} | ", f"\n| {row} | 7 or "))
    (docs / "reference.md").unlink()

    assert stale_pages(docs) == ["engine.md", "guides/limits.md", "reference.md"]
    assert stale_pages(docs, check=False) == ["engine.md", "guides/limits.md", "reference.md"]
    assert stale_pages(docs) == []
    assert (docs / "engine.md").read_text() == (PROJECT / "docs" / "engine.md").read_text()


def stale_pages(docs: Path, *, check: bool = True) -> list[str]:
    told = python(docs / "make_reference.py", *(["--check"] if check else []))
    assert told.stderr == ""
    return told.stdout.split()


def test_the_error_page_has_each_code_once_and_in_order() -> None:
    page = (PROJECT / "docs" / "guides" / "errors.md").read_text()
    assert re.findall(r"^## (\w+)$", page, re.MULTILINE) == list(ERROR_CODES)


def test_the_policy_page_has_each_built_in_group_and_profile_with_its_entries() -> None:
    page = (PROJECT / "docs" / "policy.md").read_text()
    tables = [page[page.index(f"| {kind} | entries |") :].split("\n\n")[0] for kind in ("group", "profile")]
    groups, profiles = (
        {
            name: tuple(re.findall(r"`([^`]+)`", row)) or None
            for name, row in re.findall(r"^\| `(\w+)` \| (.+) \|$", table, re.MULTILINE)
        }
        for table in tables
    )
    assert groups == GROUPS
    assert profiles == PROFILES


@pytest.mark.parametrize("event", [BeforeToolCall, AfterToolCall, ApprovalRequest, AuditEvent])
def test_the_hooks_page_names_each_field_of_an_event(event: type[msgspec.Struct]) -> None:
    page = (PROJECT / "docs" / "hooks.md").read_text()
    assert [name for name in event.__struct_fields__ if f"`{name}`" not in page] == []


@pytest.mark.parametrize(
    "text",
    [
        "```python\n1 / 0\n```\n",
        "```python\nprint(1)\n```\n\n```text\n2\n```\n",
        "<!--python\n1 / 0\n-->\n",
        "```js\nreturn missing\n```\n",
        "```js\nreturn 1\n```\n\n```json\n2\n```\n",
        "```console\n$ .venv/bin/python -c 'import sys; sys.exit(3)'\n```\n",
        "```console\n$ .venv/bin/python -c 'print(1)'\n2\n```\n",
    ],
)
def test_a_page_that_is_wrong_fails(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)

    assert run(page, tmp_path).returncode != 0


def test_a_page_that_is_right_passes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(RIGHT)

    done = run(page, tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_a_block_that_does_not_fit_its_types_is_told_with_its_page_and_line(tmp_path: Path) -> None:
    texts = {
        "wrong": '# A\n```python\nlength: int = "1"\n```\n',
        "lacking": '<!--python\nname = "Ada"\n-->\n```python\nprint(name)\n```\n',
        "right": "# B\n```python\nimport asyncio\n\nawait asyncio.sleep(0)\n```\n",
        "without": "# Nothing to run\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.md").write_text(text)

    problems, count = check([tmp_path / f"{name}.md" for name in texts])

    assert count == 3
    assert [line.removeprefix(f"{tmp_path}/").splitlines()[0] for line in problems] == [
        """wrong.md:3: Type "Literal['1']" is not assignable to declared type "int\"""",
        'lacking.md:5: "name" is not defined (reportUndefinedVariable)',
        "lacking.md:5: Argument type is unknown",
    ]


def test_three_dots_stand_for_a_part_of_one_line_only() -> None:
    assert is_like("a … c\n", "a b b c\n")
    assert not is_like("a … c\n", "a b\nb c\n")


def run(page: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return python("-W", "error", PROJECT / "tests" / "docs_page.py", page, cwd=folder)


@pytest.mark.parametrize("page", ["docs/guides/limits.md", "SECURITY.md"])
def test_every_row_of_a_table_of_promises_names_tests_that_exist(page: str) -> None:
    lines = (PROJECT / page).read_text().splitlines()
    rows = [line for line in lines if line.startswith("|") and "`tests/" in line]
    assert len(rows) >= 15
    for row in rows:
        folder = PROJECT
        for named in re.findall(r"`(tests/[\w./*-]+|test_\w+\.py)`", row.rsplit(" | ", 1)[-1]):
            place = PROJECT / named if named.startswith("tests/") else folder / named
            assert list(place.parent.glob(place.name)), f"{page}: {named}"
            folder = place.parent
