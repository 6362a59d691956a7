"""The whole story: a program calls tools, is suspended on a slow one, and survives the death of its engine.

`python examples/demo.py` starts this file again as two host processes, one after the other, on one SQLite
file. The first engine runs the program, over Python functions and a real MCP server, until only a slow tool
is left, stores it, and is killed with SIGKILL. The second finds the run in the file, and `wait` goes on at
the very `await` where it stopped.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from codemode import Engine, Waiting, tool

PROGRAM = """\
interface Order { id: string; cents: number }
const orders: Order[] = await tools.list_orders({ customer: "Ada" });
const [checks, price] = await Promise.all([
  Promise.all(orders.map((o: Order) => tools.check_stock({ id: o.id }))),
  MCP.courier.quotePrice({ parcels: orders.length }),                  // an MCP server
]);
const total = orders.reduce((sum, order) => sum + order.cents, price.cents);
text(`${orders.length} orders, ${checks.filter(Boolean).length} in stock, ${total} cents with delivery`);
const shipped = await tools.book_courier({ orders: orders.map((o) => o.id) });    // slow: people answer
return { total, shipped };
"""
SERVERS = {
    "mcpServers": {
        "courier": {"command": sys.executable, "args": [str(Path(__file__).with_name("courier_server.py"))]}
    }
}


@tool
async def list_orders(customer: str) -> list[dict[str, str | int]]:
    """All open orders of a customer."""
    return [{"id": f"{customer}-1", "cents": 1250}, {"id": f"{customer}-2", "cents": 990}]


@tool
def check_stock(id: str) -> bool:
    """Whether an order can be shipped. A plain function: it runs in a thread."""
    return id.endswith("1")


@tool(idempotent=True)
async def book_courier(orders: list[str]) -> dict[str, str | int]:
    """Books a courier. Safe to repeat with the same key, so a restarted engine may run it again."""
    if "DEMO_SLOW" in os.environ:
        await asyncio.sleep(3600)
    return {"courier": "bike", "parcels": len(orders)}


def engine(store: Path) -> Engine:
    tools = [list_orders, check_stock, book_courier]
    return Engine(tools, {"enabled": True, "timeoutMs": 1500}, store=store, mcp=SERVERS)


async def first(store: Path) -> None:
    async with engine(store) as host:
        health = await host.health()
        say(f"engine started, {health['status']}: {', '.join(check['name'] for check in health['checks'])}")
        began = time.perf_counter()
        result = await host.exec(PROGRAM, language="typescript", session="demo")
        assert isinstance(result, Waiting), result
        for item in result.output:
            if item.type == "text":
                say(f"output: {item.text}")
        snapshot = result.telemetry.snapshot
        assert snapshot is not None
        say(f"exec returned `waiting` after {(time.perf_counter() - began) * 1000:.0f} ms, its time is up")
        say(f"the VM, frozen at its await: {snapshot.bytes:,} bytes, captured in {snapshot.capture_us} µs")
        say(f"kill -9 {os.getpid()}: the engine, its workers, the MCP server and the running tool are gone")
        os.kill(os.getpid(), signal.SIGKILL)


async def second(store: Path) -> None:
    async with engine(store) as host:
        (found,) = await host.runs()
        run_id = found["runId"]
        say(f"a new engine finds {run_id}: {found['bytes']:,} bytes in {store.name}")
        fork = await host.fork(run_id, settle={"5": {"courier": "drone"}}, session="demo")  # what if …
        say(f"a fork, whose call 5 was answered so: {(await host.wait(fork, session='demo')).unwrap()}")
        result = await host.wait(run_id, session="demo")
        snapshot = result.telemetry.snapshot
        assert snapshot is not None
        say(f"restored in {snapshot.restore_us} µs; the interrupted call ran again, with the same key")
        say(f"{result.status}: {result.to_dict().get('value')}")
        trajectory = await host.trajectory(run_id, session="demo")
        assert trajectory is not None
        print(f"\nThe run, over both engines:\n\n{trajectory.tree(100)}")


def say(text: str) -> None:
    print(f"  host {os.getpid()}  {text}", flush=True)


def main() -> None:
    print(f"The model's program, TypeScript:\n\n{PROGRAM}")
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "runs.sqlite")
        slow = {**os.environ, "DEMO_SLOW": "1"}
        died = subprocess.run([sys.executable, __file__, "first", store], env=slow, check=False)
        assert died.returncode == -signal.SIGKILL, died.returncode
        subprocess.run([sys.executable, __file__, "second", store], check=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["first", path]:
            asyncio.run(first(Path(path)))
        case ["second", path]:
            asyncio.run(second(Path(path)))
        case _:
            main()
