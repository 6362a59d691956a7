"""A program calls two tools, is suspended on the slow one, and is finished by another process.

Drives one guest directly (codemode_runtime), with no worker around it: it shows the heart of the engine, not
its isolation. `python examples/demo_guest.py`; the second process is this file again, given the delta's path.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from codemode_runtime import image
from codemode_runtime.compile import prepare
from codemode_runtime.compiled import load_machine
from codemode_runtime.guest import Done, Guest, Idle, Outcome
from codemode_runtime.shapes import Limits, Settlement

PROGRAM = """\
interface Order { id: string; cents: number }
const orders: Order[] = await tools.call("list_orders", { customer: "Ada" });
const total = orders.reduce((sum, order) => sum + order.cents, 0);
text(`${orders.length} orders, ${total} cents`);
const answer = await tools.call("ask_manager", { refund: total }) as { approved: boolean };
return { refunded: answer.approved ? total : 0, orders: orders.map(order => order.id) };
"""


def list_orders(customer: str) -> list[dict[str, Any]]:
    return [{"id": f"{customer}-1", "cents": 1250}, {"id": f"{customer}-2", "cents": 990}]


def ask_manager(refund: int) -> dict[str, Any]:
    return {"approved": refund < 5000}


T = TypeVar("T")

TOOLS: dict[str, Callable[..., Any]] = {"list_orders": list_orders, "ask_manager": ask_manager}
SLOW = {"ask_manager"}  # a human answers: nobody keeps a VM in memory for that


def main() -> None:
    print(f"The program, TypeScript:\n\n{PROGRAM}")
    guest = new_guest()
    code = prepare(PROGRAM, "typescript").code
    outcome = timed("started; ran to its first await", lambda: guest.start(code))
    waiting: list[Any] = []
    while isinstance(outcome, Idle) and not waiting:
        settled: list[Settlement] = []
        for call in calls(outcome):
            if call["target"] in SLOW:
                waiting.append(call)
            else:
                settled.append(run_tool(call))
        if settled:
            outcome = timed("result delivered; ran on", lambda ready=settled: guest.deliver(ready))
    delta = timed("suspended; VM captured", guest.capture)
    guest.close()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "paused.delta"
        path.write_bytes(delta)
        say(f"{len(delta):,} bytes written; this VM is gone")
        subprocess.run([sys.executable, __file__, str(path), json.dumps(waiting)], check=True)


def finish(path: Path, waiting: list[Any]) -> None:
    """The second process: all it knows of the run is the delta and the calls still open."""
    guest = new_guest()
    delta = path.read_bytes()
    timed("restored into a fresh VM", lambda: guest.restore(delta, Limits()))
    settled = [run_tool(call) for call in waiting]
    outcome = timed("result delivered; ran to the end", lambda: guest.deliver(settled))
    assert isinstance(outcome, Done)
    guest.close()
    print(f"\nreturned {json.dumps(json.loads(outcome.result)['value'])}")


def new_guest() -> Guest:
    built = image.load()
    machine = timed("machine code loaded, or compiled the first time", lambda: load_machine(built))
    return timed("VM made", lambda: Guest(machine, built, Limits()))


def calls(outcome: Outcome) -> list[Any]:
    """What the guest asks for; its text output is shown on the way."""
    asked: list[Any] = []
    for message in json.loads(outcome.messages):
        match message:
            case {"type": "call"}:
                asked.append(message)
            case {"type": "text", "text": text}:
                say(f"text: {text}")
            case _:
                say(f"also sent: {message}")
    return asked


def run_tool(call: Any) -> Settlement:
    value = TOOLS[call["target"]](**call["args"][0])
    say(f"{call['target']}({json.dumps(call['args'][0])}) -> {json.dumps(value)}")
    return Settlement(call["id"], json.dumps(value).encode())


def timed(what: str, action: Callable[[], T]) -> T:
    start = time.perf_counter()
    value = action()
    say(f"{what}: {(time.perf_counter() - start) * 1e6:,.0f} µs")
    return value


def say(text: str) -> None:
    print(f"  process {os.getpid()}  {text}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    else:
        finish(Path(sys.argv[1]), json.loads(sys.argv[2]))
