"""Forty-nine tools of a small company, none of which declares its result, and the world behind them.

Written for this evaluation. Only what every version of codemode has is used, so that old ones can be asked
the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from codemode import ToolError, tool

Schema = dict[str, Any]
Given = dict[str, Any]


@dataclass
class World:
    """What the tools know, and what they did."""

    sent: list[str] = field(default_factory=list[str])
    deleted: list[int] = field(default_factory=list[int])
    tries: int = 0

    def forget(self) -> None:
        self.sent, self.deleted, self.tries = [], [], 0


CUSTOMERS = [
    {
        "id": number,
        "name": f"Customer {number}",
        "region": "EU" if number % 3 else "US",
        "spent_cents": number * 125,
    }
    for number in range(1, 48)
]
INVOICES = [
    {"number": f"INV-{number}", "amount_cents": number * 1000, "state": "open" if number % 2 else "paid"}
    for number in range(1, 36)
]


def tools_of(world: World) -> list[Any]:
    """The tools over one world: those that tasks need, and many that they do not."""
    return [*_needed(world), *_others()]


def _page(rows: list[dict[str, Any]], given: Given, size: int, key: str) -> dict[str, Any]:
    at = int(given.get("page", 1))
    return {key: rows[(at - 1) * size : at * size], "page": at, "total_pages": -(-len(rows) // size)}


def _needed(world: World) -> list[Any]:
    def send_mail(given: Given) -> Any:
        if "@" not in given["to"]:
            raise ToolError(f"550 no such mailbox: {given['to']}")
        world.sent.append(given["to"])
        return {"queued": True, "message_id": f"m-{len(world.sent)}"}

    def delete_record(given: Given) -> Any:
        world.deleted.append(given["id"])
        return {"deleted": given["id"]}

    def rate(given: Given) -> Any:
        world.tries += 1
        if world.tries == 1:
            raise _unavailable()
        return {"pair": given["pair"], "rate": 1.25}

    def issues(given: Given) -> Any:
        if given["repo"] != "acme/web":
            raise ToolError(f"404 repo not found: {given['repo']}")
        return {"issues": [{"number": 7, "title": "Login fails"}, {"number": 5, "title": "Typo"}], "open": 2}

    def report(given: Given) -> Any:
        if given["name"] != "revenue_monthly":
            raise ToolError(f"unknown report: {given['name']}")
        return {"rows": [["2026-01", 1200], ["2026-02", 1500]], "columns": ["month", "revenue"]}

    page = {"page": _integer("Page, from 1", minimum=1), "page_size": _integer("Rows", minimum=1, maximum=20)}
    return [
        _tool("list_customers", "Lists customers, 20 a page; total_pages says how many pages there are.",
              {"region": _text("EU or US"), **page},
              lambda given: _page([row for row in CUSTOMERS if given.get("region") in (None, row["region"])],
                                  given, given.get("page_size", 20), "customers")),
        _tool("list_invoices", "Lists invoices, 10 a page; total_pages says how many pages there are.",
              {"page": _integer("Page, from 1", minimum=1)},
              lambda given: _page(INVOICES, given, 10, "invoices")),
        _tool("get_customer", "Gets one customer.", {"customer_id": _integer("Its id")},
              lambda given: {"customer": CUSTOMERS[int(given["customer_id"]) - 1]}, required=["customer_id"]),
        _tool("list_issues", "Lists open issues of a repository.", {"repo": _text("owner/name, as acme/web")},
              issues, required=["repo"]),
        _tool("run_report", "Runs a report.", {"name": _text("One of revenue_monthly, churn_weekly")},
              report, required=["name"]),
        _tool("send_mail", "Sends a mail.", {"to": _text("Address"), "subject": _text("Subject")},
              send_mail, required=["to", "subject"]),
        _tool("delete", "Deletes a record.", {"id": _integer("Its id")}, delete_record, required=["id"]),
        _tool("search", "Searches documents.", {"query": _text("Words")},
              lambda given: {"documents": [{"title": f"About {given['query']}"}]}, required=["query"]),
        _tool("geo-lookup", "Finds the coordinates of a city.", {"city": _text("Its name")},
              lambda _: {"coordinates": {"lat": 48.2, "lon": 16.4}}, required=["city"]),
        _tool("exchange_rate", "Gets an exchange rate.", {"pair": _text("As EURUSD")}, rate,
              required=["pair"]),
        _tool("stock_levels", "Stock of each article by its code.", {},
              lambda _: {"levels": {"A-100": 4, "B-200": 0, "C-300": 7}}),
        _tool("get_balance", "Balance of an account.", {"account": _text("Its code")},
              lambda _: {"balance": {"cents": 123450, "currency": "USD"}}, required=["account"]),
        _tool("read_log", "Reads the log of a service.", {"service": _text("Its name")},
              lambda _: {"lines": [f"2026-01-01 12:00:{n % 60:02} GET /item/{n} 200" for n in range(1200)]},
              required=["service"]),
    ]  # fmt: skip


def _unavailable() -> ToolError:
    try:
        return ToolError("503 service unavailable", retryable=True)
    except TypeError:  # a version in which tools could not say so
        return ToolError("503 service unavailable")


def _others() -> list[Any]:
    """What else such a company has; results are wrapped in ever other words, as those of real tools are."""
    nouns = ("ticket", "project", "task", "contract", "shipment", "employee", "meeting", "campaign", "server",
             "backup", "domain", "licence")  # fmt: skip
    wraps = ("data", "items", "result", "records")
    found: list[Any] = []
    for at, noun in enumerate(nouns):
        wrap = wraps[at % len(wraps)]
        rows = [{"id": n, "title": f"{noun} {n}"} for n in range(3)]
        found += [
            _tool(
                f"list_{noun}s",
                f"Lists {noun}s.",
                {"state": _text("open or closed")},
                _same({wrap: rows}),
            ),
            _tool(f"get_{noun}", f"Gets one {noun}.", {"id": _integer("Its id")}, _same({noun: rows[0]})),
            _tool(f"create_{noun}", f"Creates a {noun}.", {"title": _text("Its title")}, _same({"id": 9})),
        ]
    return found


def _same(value: Any) -> Callable[[Given], Any]:
    return lambda _: value


def _text(description: str) -> Schema:
    return {"type": "string", "description": description}


def _integer(description: str, **more: int) -> Schema:
    return {"type": "integer", "description": description, **more}


def _tool(
    name: str,
    description: str,
    properties: Schema,
    answer: Callable[[Given], Any],
    *,
    required: list[str] | None = None,
) -> Any:
    schema = {
        "type": "object",
        "properties": properties,
        "required": required or [],
        "additionalProperties": False,
    }

    async def run(**given: Any) -> Any:
        return answer(given)

    return tool(run, name=name, description=description, parameters=schema)
