"""What the examples beside this share: an engine with two tools, and a model's decisions, scripted.

A real model reads the last result and decides what to call; `decide` does the same by rule, so that the
examples run without a network. Each example only shows how these decisions travel in one framework.
"""

from __future__ import annotations

import asyncio
from typing import Any

from codemode import Engine, tool

PROMPT = "Ship all open orders of Ada."
PROGRAM = """\
const orders = await tools.list_orders({ customer: "Ada" });
const total = orders.reduce((sum, order) => sum + order.cents, 0);
return { total, courier: await tools.book_courier({ orders: orders.map((order) => order.id) }) };
"""


@tool
async def list_orders(customer: str) -> list[dict[str, str | int]]:
    """All open orders of a customer."""
    return [{"id": f"{customer}-1", "cents": 1250}, {"id": f"{customer}-2", "cents": 990}]


@tool
async def book_courier(orders: list[str]) -> str:
    """Books a courier. Slow: longer than the 100 ms that exec waits, so the program is suspended."""
    await asyncio.sleep(0.25)
    return f"bike, {len(orders)} parcels"


def engine() -> Engine:
    return Engine([list_orders, book_courier], {"enabled": True, "timeoutMs": 100})


def decide(last: dict[str, Any] | None) -> tuple[str, dict[str, Any]] | str:
    """The next tool call, or the final words, from the last tool result."""
    match last:
        case None:
            return "exec", {"code": PROGRAM}
        case {"status": "waiting", "runId": str() as run_id}:
            return "wait", {"runId": run_id}
        case {"status": "completed", "value": value}:
            return f"Shipped by {value['courier']}, {value['total']} cents."
        case _:
            return f"That did not work: {last.get('error')}"
