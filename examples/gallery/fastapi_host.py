"""A web service for several users: each has an agent session of their own, and sees nothing of the others.

`uvicorn fastapi_host:app` serves it; `python fastapi_host.py` lets two users talk to it without a network.
Any number of such processes may share the store: a wait may arrive at another one than the exec.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import httpx
from fastapi import Depends, FastAPI, Header, HTTPException
from pydantic import BaseModel

from codemode import CallContext, Engine, Scope, tool

ORDERS = {
    "ada": [{"id": "A-1", "cents": 1250}],
    "ben": [{"id": "B-1", "cents": 990}, {"id": "B-2", "cents": 10}],
}
STORE = Path(tempfile.mkdtemp()) / "runs.sqlite"


@tool
async def my_orders(context: CallContext) -> list[dict[str, Any]]:
    """The orders of the user who asks."""
    return ORDERS[context.session_id]  # the host says whose session it is; a program cannot


@tool(requires_approval=True)
async def refund(id: str) -> str:
    """Pays an order back. A person has to approve."""
    return f"{id} paid back"


engine = Engine([my_orders, refund], store=STORE)


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
    async with engine:
        yield


app = FastAPI(lifespan=lifespan)


def user(x_user: Annotated[str, Header()]) -> Scope:
    """Your authentication goes here. The scope is what keeps users apart."""
    if x_user not in ORDERS:
        raise HTTPException(403)
    return Scope(session=x_user)


class Program(BaseModel):
    code: str


class Decision(BaseModel):
    approval_id: str


@app.post("/runs")
async def start(program: Program, scope: Annotated[Scope, Depends(user)]) -> dict[str, Any]:
    return (await engine.exec(program.code, scope=scope)).for_model()


@app.post("/runs/{run_id}/wait")
async def go_on(run_id: str, scope: Annotated[Scope, Depends(user)]) -> dict[str, Any]:
    return (await engine.wait(run_id, scope=scope)).for_model()


@app.post("/runs/{run_id}/approve")
async def approve(run_id: str, decision: Decision, scope: Annotated[Scope, Depends(user)]) -> bool:
    return await engine.approve(run_id, decision.approval_id, scope=scope)


async def main() -> None:
    transport = httpx.ASGITransport(app=app)
    async with lifespan(app), httpx.AsyncClient(transport=transport, base_url="http://host") as client:

        async def post(who: str, path: str, body: dict[str, str]) -> Any:
            return (await client.post(path, json=body, headers={"x-user": who})).json()

        total = "return (await tools.my_orders({})).reduce((sum, order) => sum + order.cents, 0)"
        sums = await asyncio.gather(*(post(who, "/runs", {"code": total}) for who in ORDERS))
        print("totals:", [one["value"] for one in sums])
        asked = await post("ada", "/runs", {"code": "return await tools.refund({ id: 'A-1' })"})
        approval = asked["pendingToolCalls"][0]["approval"]["id"]
        foreign = await post("ben", f"/runs/{asked['runId']}/approve", {"approval_id": approval})
        own = await post("ada", f"/runs/{asked['runId']}/approve", {"approval_id": approval})
        print("approved by another user:", foreign, "by its own:", own)
        print("then:", (await post("ada", f"/runs/{asked['runId']}/wait", {}))["value"])


if __name__ == "__main__":
    asyncio.run(main())
