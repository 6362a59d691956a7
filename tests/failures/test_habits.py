"""What hasty models write who see only the text of exec, and the line that each of them is told.

The programs bring habits of Node, browsers, Python, other engines and chat windows. Each text is what the
model reads last: the end of the error, or the notes of a program that ended well.
"""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

import pytest

from codemode import Engine, ToolError, tool
from codemode.contract.results import Failed
from tests.harness.engine import engine

FILES = (
    "There are no files, processes or environment here; call a tool instead (`tools.search(…)` finds one)."
)
NETWORK = "There is no network here; call a tool instead (`tools.search(…)` finds one)."
AVAILABLE = (
    " Available: ALL_TOOLS, tools, text, json, image, file, yield_control, console, setTimeout, clearTimeout, "
    "structuredClone, queueMicrotask, TextEncoder, TextDecoder, URL, URLSearchParams, atob, btoa, crypto, "
    "performance."
)
ASYNC = "`await` needs an async function: "
BODY = "A program is the body of an async function: leave `export` out"
ONLY = "Nothing was returned: only `return` gives a value."

TOLD = {
    # modules
    "const fs = require('fs'); return fs.readFileSync('x')": FILES,
    "import axios from 'axios';\nreturn (await axios.get('x')).data": NETWORK,
    "import { tools } from 'codemode';\nreturn await tools.list_customers()": (
        "`tools` is there already: leave this line out."
    ),
    "const { randomUUID } = require('node:crypto'); return randomUUID()": (
        "`crypto.randomUUID()` and `crypto.getRandomValues(…)` are there already: leave this line out."
    ),
    "import _ from 'lodash';\nreturn _.uniq([1])": (
        "Leave it out: write it with the language itself, or call a tool (`tools.search(…)` finds one)."
    ),
    "module.exports = async () => tools.list_customers()": f"{BODY}; `return` gives the value.",
    "export default async function main() { return 1 }": f"{BODY} and end with `return await main()`.",
    # Node and browsers
    "return (await fetch('https://x')).json()": NETWORK + AVAILABLE,
    "return process.env.HOME": FILES + AVAILABLE,
    "return fs.readFileSync('/etc/passwd')": FILES + AVAILABLE,
    "return Buffer.from('abc').toString('base64')": (
        "Write `btoa(text)` and `atob(base64)`, or `new TextEncoder().encode(text)` for bytes."
    ),
    "setInterval(() => 1, 100); return 1": (
        "Use `setTimeout`, or a loop with `await new Promise((done) => setTimeout(done, ms))`."
    ),
    "await sleep(5); return 1": "Write `await new Promise((done) => setTimeout(done, ms))`.",
    "return _.groupBy([1, 2], (x) => x % 2)": (
        "There are no libraries here: write it with the language, as `Object.groupBy(list, key)`, "
        "`list.toSorted(order)`, `structuredClone(value)`."
    ),
    "return moment().format('YYYY')": "There are no libraries here: write it with `Date`, in UTC.",
    "return new Intl.NumberFormat('en-US').format(1)": (
        'There is no `Intl`: write `value.toLocaleString("en-US", { style: "currency", currency: "USD" })`.'
    ),
    # other engines
    "return await tools('list_customers', {})": "`tools` is no function: write `await tools.list_customers({…})`.",
    "return await callTool('list_customers', {})": (
        "There is no `callTool` here: write `await tools.list_customers({…})`."
    ),
    "return await use_tool(1)": "There is no `use_tool` here: write `await tools.name({…})`.",
    "return await list_customers()": (
        "Tools are called through `tools`: `await tools.list_customers({ page?: integer = 1 })`."
    ),
    "return await tools.listCustomers()": "There is no `tools.listCustomers`. Did you mean `tools.list_customers`?",
    "tools.list_customers({}, (error, rows) => text(rows))": (
        "Nobody handled this rejection: `await` the promise or add `.catch(…)`."
    ),
    "return await tools.list_customers({}, (error, rows) => text(rows))": (
        "TypeError: tools take no callback: write `const result = await …({…})` (1:20)\n"
        "    return await tools.list_customers({}, (error, rows) => text(rows))\n"
        "                       ^"
    ),
    "return await tools.call({ name: 'list_customers', arguments: {} })": (
        "Write `await tools.list_customers({…})`."
    ),
    "return await tools.describe({ name: 'list_customers' })": 'Write `await tools.describe("list_customers")`.',
    # promises
    "function f() { const r = await tools.list_customers(); return r }\nreturn f()": (
        f"{ASYNC}write `async function f(…)`."
    ),
    "return [1].map((n) => await tools.flaky({ n }))": f"{ASYNC}write `async (…) => …`.",
    "return await tools.list_customers({}).customers": (
        "`await tools.list_customers({}).customers` reads a field of a promise: "
        "write `(await tools.list_customers({})).customers`."
    ),
    "const all = await tools.list_customers({}).customers;\nreturn all.length": (
        "`await tools.list_customers({}).customers` reads a field of a promise: "
        "write `(await tools.list_customers({})).customers`."
    ),
    "return [1, 3].map((n) => tools.flaky({ n }))": (
        "The value has a promise that was not awaited ($[0], $[1]): "
        "`await Promise.all(list)` gives the values of a list."
    ),
    "tools.list_customers({}).then((r) => r.total)": (
        f"{ONLY} Write `return await tools.list_customers({{}}).then((r) => r.total)`."
    ),
    # results
    "return JSON.parse(await tools.list_customers({})).total": (
        "`JSON.parse` was given an object: what tools return are values already. Leave `JSON.parse` out."
    ),
    "const r = await tools.list_customers(); return r.has_more": (
        "`return r.has_more` gave undefined, which is shown as null."
    ),
    "return (await tools.list_customers()).customers.find((c) => c.id === 99).id": (
        "`find(…)` found nothing: look before you read from it, or write `?.`."
    ),
    "return 'Customers: ' + (await tools.list_customers())": (
        '"[object Object]" is an object in a text: write `JSON.stringify(value)`, or return the object itself.'
    ),
    "return (await tools.search('customers', { limit: 500 })).length": (
        "Clamped: tools.search gives at most 50 entries."
    ),
    "return await tools.flaky({ n: 2 })": "The same call may succeed later (`retryable`).",
    # other languages
    "def main():\n    return tools.list_customers()": "This is Python; write the program in JavaScript or TypeScript.",
    "r = await tools.list_customers()\nreturn [c['id'] for c in r['customers']]": (
        "JavaScript has no comprehensions: write `list.filter((x) => …).map((x) => …)`."
    ),
    "return await tools.list_customers(page=1)": (
        "A tool takes one object: write `await tools.list_customers({ page: … })`."
    ),
    "print(len([1]))": "Write `text(value)` or `console.log(value)`.",
    "return len([1])": "Write `list.length`.",
    "return None": "Write `null`.",
    "return json.dumps({ a: 1 })": "This is not Python: write `JSON.stringify(value)`.",
    "const x: number = 5; return x": 'If this is TypeScript, pass language: "typescript".',
    "ls -la": "This is a shell command; write JavaScript or TypeScript, and use `tools` for everything else.",
    "SELECT * FROM customers": "This looks like SQL: write JavaScript, and give the query to a tool that takes one.",
    '{"code": "return 1"}': "This is JSON around a program: send the program alone, as `code`.",
    '{"tool": "list_customers", "arguments": {}}': (
        "This is JSON: to call a tool write `return await tools.list_customers({…})`."
    ),
    '{"a": 1, "b": 2}': "This is JSON, not a program: to give it back write `return` before it.",
}
# These work as they are.
RIGHT = {
    "```js\nreturn (await tools.list_customers()).total\n```": 2,
    "const { list_customers } = tools; return (await list_customers()).total": 2,
    "return (await tools.call('list_customers', {})).total": 2,
    "const total = tools.list_customers().then((r) => r.total); return total": 2,
    "console.group('x'); console.time('t'); console.table([1]); console.timeEnd('t'); console.groupEnd(); return 1": 1,
    "return (1234.5).toLocaleString('en-US', { style: 'currency', currency: 'USD' })": "$1,234.50",
}


@tool
async def list_customers(page: int = 1) -> object:
    """Lists customers."""
    return {"customers": [{"id": page}, {"id": page + 1}], "total": 2}


@tool
async def flaky(n: int) -> object:
    """Fails for 2."""
    if n == 2:
        raise ToolError("503 service unavailable", retryable=True)
    return n


async def _told(made: Engine, program: str) -> str:
    result = await made.exec(program)
    if not isinstance(result, Failed):
        return result.notes[0] if result.notes else ""
    lines = result.error.split("\n")
    return result.error if lines[-1].strip() == "^" else lines[-1]


@pytest.mark.guarantee("habits-are-met")
async def test_each_habit_is_told_the_line_that_works() -> None:
    async with engine([list_customers, flaky]) as made:
        told = {program: await _told(made, program) for program in TOLD}

    assert told == TOLD


async def test_what_can_be_understood_works() -> None:
    async with engine([list_customers, flaky]) as made:
        results = {program: (await made.exec(program)).to_dict() for program in RIGHT}

    assert {program: result.get("value") for program, result in results.items()} == RIGHT
    assert not any("notes" in result for result in results.values())
