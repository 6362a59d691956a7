"""What models send around and instead of programs: Markdown fences, shell commands, Python."""

import pytest
from codemode_runtime.compile import Language, SourceError, fence_language, prepare

BOTH: list[Language] = ["javascript", "typescript"]

FENCED = [
    ("```js\nreturn 1\n```", "     \nreturn 1\n   "),
    ("```javascript\nreturn 1\n```", "             \nreturn 1\n   "),
    ("```\nreturn 1\n```", "   \nreturn 1\n   "),
    ("~~~js\nreturn 1\n~~~", "     \nreturn 1\n   "),
    ("````js\nreturn '```'\n````", "      \nreturn '```'\n    "),
    ("\n\n```js\nreturn 1\n```\n\n", "\n\n     \nreturn 1\n   \n\n"),
    ("  ```js\n  return 1\n  ```", "       \n  return 1\n     "),
    ("```js\nreturn 1", "     \nreturn 1"),
    ("return 1\n```", "return 1\n   "),
    ("const x = 1;\nreturn x\n```\n", "const x = 1;\nreturn x\n   \n"),
    ("```js return 1```", "      return 1   "),
    ("```return 1```\n", "   return 1   \n"),
    ("``` return `a${1}b`; ```", "    return `a${1}b`;    "),
    ("```js\r\nreturn 1\r\n```\r\n", "     \r\nreturn 1\r\n   \r\n"),
    ('```js title="x"\nreturn 1\n```', "               \nreturn 1\n   "),
    ("```JS\nreturn 1\n```", "     \nreturn 1\n   "),
    ("```node\nreturn 1\n```", "       \nreturn 1\n   "),
    ("```text\nreturn 1\n```", "       \nreturn 1\n   "),
    ("```js\n\nreturn 1\n\n```", "     \n\nreturn 1\n\n   "),
    ("```js\nreturn 1\n`````", "     \nreturn 1\n     "),
    ("Here is the code:\n```js\nreturn 1\n```", "                 \n     \nreturn 1\n   "),
    ("```js\nreturn 1\n```\nThis returns one.", "     \nreturn 1\n   \n                 "),
    ("Voilà:\n```js\nreturn 1\n```", "       \n     \nreturn 1\n   "),
    ("```js\nreturn `a\n  ```\n`", "     \nreturn `a\n     \n "),
    ("\ufeff```js\nreturn 1\n```", "        \nreturn 1\n   "),
    ("Use `tools.call` here:\n\n```js\nreturn 1\n```", "                      \n\n     \nreturn 1\n   "),
    ("Sure! This\nworks:\n~~~js\nreturn 1\n~~~", "          \n      \n     \nreturn 1\n   "),
]

NOT_FENCED = [
    "return `\n```js\nx\n```\n`.length",
    "const md = `\n~~~\ncode\n~~~\n`; return md",
    "// ```js\nreturn 1\n// ```",
    "/*\n```js\nfoo()\n```\n*/ return 1",
    "return '```js\\ncode\\n```'",
    "return ``",
    "text('```')",
    "const fence = '~~~'; return fence",
]

SHELL = [
    "ls -la",
    "ls",
    "pwd;",
    "ls; pwd",
    "./run.sh",
    "../bin/run --fast",
    "FOO=1 node x.js",
    "A=1 B=x npm run build",
    "test -f x && echo y",
    "[ -f x ] && echo y",
    "cat foo | grep x",
    "cd /tmp && ls",
    "$ ls",
    "$ npm run build",
    "echo hi",
    'echo "hello world"',
    "npm install",
    "npm install lodash --save",
    "npx tsc --noEmit",
    "pip install requests",
    "python script.py",
    "python3 -c 'print(1)'",
    "git status",
    'git commit -m "x"',
    "curl https://example.com",
    "curl -s https://example.com | jq .",
    "mkdir -p a/b",
    "rm -rf /tmp/x",
    "cat /etc/passwd",
    "cat package.json",
    "grep -r foo .",
    "find . -name '*.ts'",
    "sudo apt-get update",
    "docker ps -a",
    "node -v",
    "node index.js",
    "export FOO=bar",
    "#!/bin/bash\nls",
    "#!/usr/bin/env sh\necho 1",
    "# list files\nls -la",
    "ls | wc -l",
    "tail -f log.txt",
    "for f in *.txt; do echo $f; done",
    "if [ -f x ]; then echo y; fi",
    "touch a.txt\necho done > a.txt",
    "```bash\nls -la\n```",
    "```sh\nwhoami\n```",
]

PYTHON = [
    "import os\nprint(1)",
    "import os",
    "import os, sys",
    "import numpy as np",
    "from os import path",
    "from . import x",
    "def f():\n    return 1",
    "async def main():\n    pass",
    "class A:\n    pass",
    "class A(B):\n    x = 1",
    "for x in range(3):\n    print(x)",
    "while True:\n    break",
    "if x > 1:\n    print(x)",
    "with open('x') as f:\n    print(f.read())",
    "try:\n    x()\nexcept Exception as e:\n    print(e)",
    'print "hi"',
    'print(f"hi {name}")',
    'print("hi")',
    "# greet\nprint('hello')\nprint('world')  # twice",
    "x = [i for i in range(3)]",
    "f = lambda x: x + 1",
    "x = 1 if y else 2",
    "raise ValueError('x')",
    "@app.route('/')\ndef index():\n    return 1",
    '"""Docs."""\nx = 1',
    "#!/usr/bin/env python3\nprint(1)",
    "# a comment\nimport json\nprint(json.dumps({}))",
    "x = 5\nfor i in range(x):\n    print(i)",
    'result = f"{a}-{b}"',
    "assert x == 1",
    "del x",
    "```python\nprint(1)\n```",
    "```py\nx = 1\n```",
]

LOOK_ALIKES = [
    "print(1)",
    "print('hi');",
    "const print = text\nprint('hi')",
    "x = 5",
    "ls = 5",
    "const ls = 1; ls",
    "let env = 1\nenv",
    "test - f",
    "date; f()",
    "FOO = 1",
    "echo(1)",
    "cat - dog",
    "sort (xs)",
    "find(x => x)",
    "test.x = 1",
    "const ls = 1, la = 2; return ls -la",
    "const cd = 4, tmp = 2\ncd /tmp",
    "date",
    "node.next = null",
    "git.status()",
    "curl\n(1)",
    "for (const x in y) { z(x) }",
    "if (x) y: for (;;) break y",
    "while (true) { break }",
    "class A { x = 1 }",
    "with_ = 1",
    "try { x() } finally { y() }",
    "def(1)",
    "raise(1)",
    "del (x)",
    "assert(x)",
    "lambda = x => x",
    "a = b ? c : d",
    "from = 1; from",
    "async () => 1",
    "const sh = `ls -la\ncd /tmp`; return sh",
    "const py = `\ndef f():\n  pass\n`; return py",
    "# not javascript, but not plainly anything else",
    "const x = ;",
    "return (",
    "find = 1; find",
    "exec({ code: 1 })",
    "time: for (;;) { break time }",
    "make`x`",
]


@pytest.mark.parametrize(("text", "code"), FENCED)
def test_a_fenced_program_is_unwrapped_in_place(text: str, code: str) -> None:
    prepared = prepare(text, "javascript")
    assert prepared.code == code
    assert len(prepared.code.encode()) == len(text.encode())


@pytest.mark.parametrize("text", NOT_FENCED)
def test_a_program_that_only_holds_a_fence_stays_as_it_is(text: str) -> None:
    assert prepare(text, "javascript").code == text


def test_a_position_inside_a_fence_is_that_of_the_text_as_sent() -> None:
    with pytest.raises(SourceError) as refused:
        prepare("Sure:\n\n```js\nconst a = 1;\n  require('fs');\n```\n", "javascript")
    assert (refused.value.line, refused.value.column) == (5, 3)
    assert refused.value.source_line == "  require('fs');"


def test_a_typescript_fence_makes_the_program_typescript() -> None:
    prepared = prepare("```ts\nconst a: number = 1; return a;\n```", "javascript")
    assert prepared.language == "typescript"
    assert prepared.code == "     \nconst a         = 1; return a;\n   "


def test_a_typescript_fence_stays_javascript_where_typescript_is_off() -> None:
    prepared = prepare("```ts\nreturn 1\n```", "javascript", allow={"javascript"})
    assert prepared.language == "javascript"


def test_a_javascript_fence_leaves_a_typescript_program_typescript() -> None:
    assert prepare("```js\nreturn 1 as number\n```", "typescript").language == "typescript"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("```tsx\nx\n```", "typescript"),
        ("```JavaScript\nx\n```", "javascript"),
        ("```py\nx\n```", "python"),
        ("```console\nx\n```", "shell"),
        ("```\nx\n```", None),
        ("return 1", None),
    ],
)
def test_the_language_on_a_fence_is_reported(text: str, language: str | None) -> None:
    assert fence_language(text) == language


def test_two_code_blocks_are_refused() -> None:
    with pytest.raises(SourceError) as refused:
        prepare("```js\na()\n```\nand\n```js\nb()\n```", "javascript")
    assert refused.value.code == "invalid_input"
    assert "more than one code block" in refused.value.message


def test_an_empty_fence_is_refused() -> None:
    with pytest.raises(SourceError) as refused:
        prepare("```js\n\n```", "javascript")
    assert (refused.value.code, refused.value.message) == (
        "invalid_input",
        "The code fence is empty; put the program inside it.",
    )


def test_prose_before_a_fence_that_was_cut_off_is_no_program() -> None:
    with pytest.raises(SourceError, match="The code fence is empty"):
        prepare("Here is the code:\n```", "javascript")


@pytest.mark.parametrize("language", BOTH)
@pytest.mark.parametrize("text", [text for text in SHELL if text not in LOOK_ALIKES])
def test_a_shell_command_is_refused_as_one(text: str, language: Language) -> None:
    with pytest.raises(SourceError) as refused:
        prepare(text, language)
    assert refused.value.code == "invalid_input"
    assert refused.value.message.startswith("This is a shell command;")


@pytest.mark.parametrize("language", BOTH)
@pytest.mark.parametrize("text", PYTHON)
def test_python_is_refused_as_python(text: str, language: Language) -> None:
    with pytest.raises(SourceError) as refused:
        prepare(text, language)
    assert refused.value.code == "invalid_input"
    assert refused.value.message.startswith("This is Python;")


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_javascript_that_looks_like_another_language_passes(text: str) -> None:
    assert prepare(text, "javascript").code == text


@pytest.mark.parametrize(
    "shebang", ["#!/usr/bin/env node", "#!/usr/bin/env -S codemode run", "#!/opt/shiny/thing"]
)
def test_a_shebang_that_names_neither_shell_nor_python_is_blanked(shebang: str) -> None:
    assert prepare(f"{shebang}\nreturn 1", "javascript").code == f"{' ' * len(shebang)}\nreturn 1"
