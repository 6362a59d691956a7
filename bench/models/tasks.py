"""Twenty tasks, as hasty models go about them: the first program is a guess, the last one is right.

What an attempt takes to know is written so that any engine can tell it: in its description, in an error, in a
note, or because the model looked at a result.
"""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

from bench.models.catalog import CUSTOMERS, INVOICES
from bench.models.script import Attempt, Task

_EU = [row for row in CUSTOMERS if row["region"] == "EU"]
_OPEN = sum(int(row["amount_cents"]) for row in INVOICES if row["state"] == "open")

# How the shape of a result may have been told.
_CUSTOMERS = r"customers: Array|keys customers|\"customers\":\[|\"customers\":\{\"type\""
_TOTAL = r"total_pages"
_INVOICES = r"invoices: Array<\{[^}]*amount_cents|\"amount_cents\""
_RETURN = r"only `return` gives|Only `return`|never the last|`return` gives"


def _pages(tool: str, key: str, given: str = "") -> str:
    return f"const rows = []; for (let page = 1, last = 1; page <= last; page++) {{ const r = await tools.{tool}({{ page{given} }}); rows.push(...r.{key}); last = r.total_pages; }}"


TASKS = (
    Task(
        "count over pages",
        (
            Attempt("const customers = await tools.list_customers({ region: 'EU' }); return customers.map((c) => c.id).length"),
            Attempt("let n = 0, page = 1, r; do { r = await tools.list_customers({ region: 'EU', page: page++ }); n += r.customers.length } while (r.has_more); return n", (_CUSTOMERS,)),
            Attempt(_pages("list_customers", "customers", ", region: 'EU'") + " return rows.length", (_CUSTOMERS, _TOTAL)),
        ),
        ("return await tools.list_customers({ region: 'EU', page_size: 1 })",),
        lambda value, _: value == len(_EU),
    ),
    Task(
        "a page that is too large",
        (
            Attempt("const r = await tools.list_customers({ page_size: 100 }); return r.customers.length"),
            Attempt(_pages("list_customers", "customers") + " return rows.length", (_TOTAL, r"1\.\.20|\b20\b")),
        ),
        ("return await tools.describe('list_customers')", "return await tools.list_customers({})"),
        lambda value, _: value == len(CUSTOMERS),
    ),
    Task(
        "a sum over a field that is guessed",
        (
            Attempt("const r = await tools.list_invoices(); return r.filter((i) => i.status === 'open').reduce((sum, i) => sum + i.amount, 0)"),
            Attempt("const r = await tools.list_invoices(); return r.invoices.filter((i) => i.state === 'open').reduce((sum, i) => sum + i.amount_cents, 0)", (_INVOICES,)),
            Attempt(_pages("list_invoices", "invoices") + " return rows.filter((i) => i.state === 'open').reduce((sum, i) => sum + i.amount_cents, 0)", (_INVOICES, _TOTAL)),
        ),
        ("return (await tools.list_invoices({})).invoices.slice(0, 2)", "return await tools.list_invoices({})"),
        lambda value, _: value == _OPEN,
    ),
    Task(
        "a nested result",
        (
            Attempt("const c = await tools.get_customer({ customer_id: 4 }); return c.name.toUpperCase()"),
            Attempt("const { customer } = await tools.get_customer({ customer_id: 4 }); return customer.name.toUpperCase()", (r"keys? customer\b|\{ customer: |\"customer\":\{",)),
        ),
        ("return await tools.get_customer({ customer_id: 4 })",),
        lambda value, _: value == "CUSTOMER 4",
    ),
    Task(
        "a parameter with a form",
        (
            Attempt("const r = await tools.list_issues({ repo: 'web' }); return r.issues[0].number"),
            Attempt("const r = await tools.list_issues({ repo: 'acme/web' }); return r.issues[0].number", (r"owner/name",)),
        ),
        ("return await tools.describe('list_issues')",),
        lambda value, _: value == 7,
    ),
    Task(
        "a name from a list",
        (
            Attempt("return (await tools.run_report({ name: 'monthly revenue' })).rows.length"),
            Attempt("return (await tools.run_report({ name: 'revenue_monthly' })).rows.length", (r"revenue_monthly",)),
        ),
        ("return await tools.describe('run_report')",),
        lambda value, _: value == 2,
    ),
    Task(
        "a mail that was not awaited",
        (
            Attempt("tools.send_mail({ to: 'ada@example.org', subject: 'Hello' })"),
            Attempt("return await tools.send_mail({ to: 'ada@example.org', subject: 'Hello' })", (r"\"value\":null",)),
        ),
        (),
        lambda _, world: world.sent == ["ada@example.org"],
        told=r"made all the same: send_mail ×1 ok",
    ),
    Task(
        "one of three mails fails",
        (
            Attempt("return await Promise.all(['a@x.org', 'nobody', 'c@x.org'].map((to) => tools.send_mail({ to, subject: 'Hi' })))"),
            Attempt("return (await Promise.all(['a@x.org', 'b@x.org', 'c@x.org'].map((to) => tools.send_mail({ to, subject: 'Hi' })))).length", (r"no such mailbox",)),
            Attempt("return (await tools.send_mail({ to: 'b@x.org', subject: 'Hi' })).queued", (r"no such mailbox", r"send_mail ×2 ok")),
        ),
        (),
        lambda _, world: sorted(world.sent) == ["a@x.org", "b@x.org", "c@x.org"],
    ),
    Task(
        "a bare last expression",
        (
            Attempt("const r = await tools.get_balance({ account: 'A-1' }); r.balance.cents"),
            Attempt("const r = await tools.get_balance({ account: 'A-1' }); return r.balance.cents", (r"Nothing was returned",)),
        ),
        ("const r = await tools.get_balance({ account: 'A-1' }); console.log(r)", "const r = await tools.get_balance({ account: 'A-1' }); return r.balance.cents"),
        lambda value, _: value == 123450,
    ),
    Task(
        "main() without return",
        (
            Attempt("async function main() { const r = await tools.get_balance({ account: 'A-1' }); return r.balance.cents }\nmain()"),
            Attempt("async function main() { const r = await tools.get_balance({ account: 'A-1' }); return r.balance.cents }\nreturn await main()", (r"return await main\(\)",)),
        ),
        ("const r = await tools.get_balance({ account: 'A-1' }); console.log(r)", "async function main() { const r = await tools.get_balance({ account: 'A-1' }); return r.balance.cents }\nreturn await main()"),
        lambda value, _: value == 123450,
    ),
    Task(
        "a log that is too long",
        (
            Attempt("const r = await tools.read_log({ service: 'web' }); console.log(r.lines.join('\\n')); return r.lines.length"),
            Attempt("const r = await tools.read_log({ service: 'web' }); return r.lines.length", (r"output_limit_exceeded",)),
        ),
        (),
        lambda value, _: value == 1200,
    ),
    Task(
        "an amount for people",
        (
            Attempt("const r = await tools.get_balance({ account: 'A-1' }); return (r.balance.cents / 100).toLocaleString('en-US', { style: 'currency', currency: 'USD' })", (r"balance",)),
        ),
        (),
        lambda value, _: value == "$1,234.50",
    ),
    Task(
        "forty-seven calls at once",
        (
            Attempt("return (await Promise.all(Array.from({ length: 47 }, (_, i) => tools.get_customer({ customer_id: i + 1 })))).length"),
            Attempt("let n = 0; for (let at = 0; at < 47; at += 16) n += (await Promise.all(Array.from({ length: Math.min(16, 47 - at) }, (_, i) => tools.get_customer({ customer_id: at + i + 1 })))).length; return n", (r"[Aa]t most 16 calls|More than 16|16 at once",)),
        ),
        (),
        lambda value, _: value == 47,
    ),
    Task(
        "two hundred calls in turn",
        (Attempt("let n = 0; for (let i = 0; i < 200; i++) n += (await tools.get_customer({ customer_id: 1 })).customer.id; return n", (r"customer",)),),
        (),
        lambda value, _: value == 200,
    ),
    Task(
        "a name with a hyphen",
        (
            Attempt("const r = await tools['geo-lookup']({ city: 'Vienna' }); return r.coordinates.lat"),
            Attempt("const r = await tools.geo_lookup({ city: 'Vienna' }); return r.coordinates.lat", (r"geo_lookup\(",)),
        ),
        ("return ALL_TOOLS.filter((t) => t.name.startsWith('geo'))", "return await tools.search('coordinates')"),
        lambda value, _: value == 48.2,
    ),
    Task(
        "a tool named delete",
        (
            Attempt("return await tools.delete({ id: 3 })"),
            Attempt("return await tools.call('openclaw:core:delete', { id: 3 })", (r"call\(\\?\"openclaw:core:delete",)),
        ),
        ("return await tools.search('delete a record')",),
        lambda _, world: world.deleted == [3],
    ),
    Task(
        "a tool named search",
        (
            Attempt("return (await tools.search({ query: 'pricing' })).documents[0].title"),
            Attempt("return (await tools.call('openclaw:core:search', { query: 'pricing' })).documents[0].title", (r"call\(\\?\"openclaw:core:search",)),
        ),
        ("return await tools.search('search documents')",),
        lambda value, _: value == "About pricing",
    ),
    Task(
        "a service that is down for a moment",
        (
            Attempt("return (await tools.exchange_rate({ pair: 'EURUSD' })).rate"),
            Attempt("for (let i = 0; i < 3; i++) try { return (await tools.exchange_rate({ pair: 'EURUSD' })).rate } catch (e) { if (!e.retryable) throw e }", (r"may succeed later",)),
            Attempt("const r = await tools.exchange_rate({ pair: 'EURUSD' }); return r.rate", (r"503", r"\"pair\"")),
        ),
        ("return await tools.describe('exchange_rate')",),
        lambda value, _: value == 1.25,
    ),
    Task(
        "JSON.parse of a result",
        (
            Attempt("const r = JSON.parse(await tools.stock_levels()); return Object.values(r.levels).reduce((a, b) => a + b, 0)"),
            Attempt("const r = await tools.stock_levels(); return Object.values(r.levels).reduce((a, b) => a + b, 0)", (r"levels: Record|Leave `JSON.parse` out|\"levels\":\{",)),
        ),
        ("const r = await tools.stock_levels(); return [typeof r, r]",),
        lambda value, _: value == 11,
    ),
    Task(
        "a field of a promise",
        (
            Attempt("const lines = await tools.read_log({ service: 'web' }).lines; return lines.length"),
            Attempt("const lines = (await tools.read_log({ service: 'web' })).lines; return lines.length", (r"\(await tools\.read_log|\"lines\"|lines: (?:Array|string)",)),
        ),
        ("const r = await tools.read_log({ service: 'web' }); return Object.keys(r)",),
        lambda value, _: value == 1200,
    ),
)  # fmt: skip
