"""The work: programs with the answers they must give. Every JavaScript engine gets the very same text.

`tool({i})` is the host's and gives `{value: 2 * i}`. pydantic-monty runs Python, so each program has a twin in it;
where the languages differ (JSON spacing) so does the answer.
"""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Program:
    javascript: str
    python: str | None
    expect: Any
    python_expect: Any = None  # None: the same
    language: str = "javascript"

    def text_for(self, language: str) -> str | None:
        """None if it cannot be said in that language."""
        return self.python if language == "python" else self.javascript

    def answer_in(self, language: str) -> Any:
        return self.python_expect if language == "python" and self.python_expect is not None else self.expect


ONE_PLUS_ONE = Program("return 1 + 1", "1 + 1", 2)
ONE_CALL = Program("const r = await tool({ i: 1 }); return r.value", '(await tool({"i": 1}))["value"]', 2)
PARALLEL = Program(
    "const all = await Promise.all(Array.from({ length: 16 }, (_, i) => tool({ i }))); return all.reduce((sum, r) => sum + r.value, 0)",
    'import asyncio\nall = await asyncio.gather(*[tool({"i": i}) for i in range(16)])\nsum([r["value"] for r in all])',
    240,
)
NEVER_ANSWERED = Program("await tool({ i: -1 })", 'await tool({"i": -1})', None)
ENDLESS = Program("for (;;);", "while True:\n    pass", None)


def sequential(calls: int) -> Program:
    return Program(
        f"let sum = 0; for (let i = 0; i < {calls}; i++) sum += (await tool({{ i }})).value; return sum",
        f'sum = 0\nfor i in range({calls}):\n    r = await tool({{"i": i}})\n    sum += r["value"]\nsum',
        calls * (calls - 1),
    )


TYPESCRIPT = Program(
    """interface Row { id: number; name?: string }
type Total<T> = { sum: T; rows: readonly Row[] };
const rows: Row[] = [{ id: 1 }, { id: 2, name: "b" }];
function total<T extends number>(list: Row[], start: T): Total<number> {
  return { sum: list.reduce((sum: number, row) => sum + row.id, start as number), rows: list };
}
return total(rows, 0 satisfies number).sum!;""",
    None,
    3,
    language="typescript",
)
# cannot be erased in place: the enum has to become code
TYPESCRIPT_ENUM = Program(
    TYPESCRIPT.javascript.replace("const rows:", "enum Level { Low = 1, High }\nconst rows:").replace(
        ".sum!", ".sum + Level.High"
    ),
    None,
    5,
    language="typescript",
)

_WAIT = "const r = await tool({ i: 1 }); return live.length + r.value"
_WAIT_PYTHON = 'r = tool({"i": 1})\nlen(live) + r["value"]'
HOLD_TINY = Program(f"const live = [1, 2, 3]; {_WAIT}", f"live = [1, 2, 3]\n{_WAIT_PYTHON}", 5)


def hold_rows(count: int) -> Program:
    """Small objects, as tools return them: 13,000 of these are 1 MB of JSON."""
    return Program(
        f'const live = []; for (let i = 0; i < {count}; i++) live.push({{ id: i, name: "item-" + i, price: i * 1.5, tags: ["a", "b", i], ok: i % 2 === 0 }}); {_WAIT}',
        f'live = [{{"id": i, "name": "item-" + str(i), "price": i * 1.5, "tags": ["a", "b", i], "ok": i % 2 == 0}} for i in range({count})]\n{_WAIT_PYTHON}',
        count + 2,
    )


def hold_text(kib: int) -> Program:
    """Strings of 1 KiB of pseudo-random digits, which compress to about half."""
    return Program(
        f"""let x = 12345; const live = [];
for (let i = 0; i < {kib}; i++) {{ let s = ""; while (s.length < 1024) s += (x = (x * 16807) % 2147483647); live.push(s.slice(0, 1024)); }}
{_WAIT}""",
        f"""x = 12345
live = []
for i in range({kib}):
    parts = []
    for j in range(110):
        x = (x * 16807) % 2147483647
        parts.append(str(x))
    live.append("".join(parts)[:1024])
{_WAIT_PYTHON}""",
        kib + 2,
    )


KERNELS = {
    "fib": Program(
        "const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2)); return fib(24)",
        "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(24)",
        46368,
    ),
    "sort": Program(
        """let x = 12345; const list = Array.from({ length: 30000 }, () => (x = (x * 16807) % 2147483647));
list.sort((a, b) => a - b); return list[15000]""",
        """x = 12345
list = []
for i in range(30000):
    x = (x * 16807) % 2147483647
    list.append(x)
list.sort(key=lambda v: v)
list[15000]""",
        1074363954,
    ),
    "json": Program(
        """const rows = Array.from({ length: 6000 }, (_, i) => ({ id: i, name: "row " + i, tags: ["a", "b", i % 7], ok: i % 2 === 0 }));
return JSON.stringify(JSON.parse(JSON.stringify(rows))).length""",
        """import json
rows = [{"id": i, "name": "row " + str(i), "tags": ["a", "b", i % 7], "ok": i % 2 == 0} for i in range(6000)]
len(json.dumps(json.loads(json.dumps(rows))))""",
        354781,
        414780,
    ),
    "string append": Program(
        'let text = ""; for (let i = 0; i < 100000; i++) text += "row " + i + ";"; return text.length',
        # not in a function: there pydantic-monty takes ten times as long
        'text = ""\nfor i in range(100000):\n    text += "row " + str(i) + ";"\nlen(text)',
        988890,
    ),
    "regex": Program(
        """let log = ""; for (let i = 0; i < 1000; i++) log += "2026-01-0" + (i % 9 + 1) + " user" + i + "@example.com GET /path/" + i + " 200\\n";
let sum = 0; for (const m of log.matchAll(/(\\d{4})-(\\d\\d)-(\\d\\d) (\\w+)@(\\w+)\\.com (GET|POST) (\\S+) (\\d+)/g)) sum += m[7].length; return sum""",
        """import re
log = "".join(["2026-01-0" + str(i % 9 + 1) + " user" + str(i) + "@example.com GET /path/" + str(i) + " 200\\n" for i in range(1000)])
sum = 0
for m in re.findall(r'(\\d{4})-(\\d\\d)-(\\d\\d) (\\w+)@(\\w+)\\.com (GET|POST) (\\S+) (\\d+)', log):
    sum += len(m[6])
sum""",
        8890,
    ),
    "map and set": Program(
        """const map = new Map(), set = new Set();
for (let i = 0; i < 50000; i++) { const k = "k" + (i % 5000); map.set(k, (map.get(k) ?? 0) + i); set.add(i % 7919); }
let sum = set.size; for (const v of map.values()) sum += v; return sum""",
        """map = {}
seen = set()
for i in range(50000):
    k = "k" + str(i % 5000)
    map[k] = map.get(k, 0) + i
    seen.add(i % 7919)
total = len(seen)
for v in map.values():
    total += v
total""",
        1249982919,
    ),
}
