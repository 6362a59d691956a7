"""`tasks/get`, `tasks/update` and `tasks/cancel` on the SDK's server, which has no extensions of its own."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from codemode.serve.mcp.front import Front
from codemode.serve.mcp.tasks import EXTENSION

if TYPE_CHECKING:  # loaded when it is served
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from pydantic import BaseModel

_DONE: dict[str, Any] = {"resultType": "complete"}


def add_task_methods(server: Server[Any], front: Front) -> None:
    tasks = front.tasks

    async def get(context: ServerRequestContext[Any, Any], params: Any) -> dict[str, Any]:
        return _DONE | await tasks.get(context, params.task_id, front.session_of(context))

    async def update(context: ServerRequestContext[Any, Any], params: Any) -> dict[str, Any]:
        session = front.session_of(context)
        await tasks.update(context, params.task_id, session, params.input_responses or {})
        return _DONE

    async def cancel(context: ServerRequestContext[Any, Any], params: Any) -> dict[str, Any]:
        await tasks.cancel(context, params.task_id, front.session_of(context))
        return _DONE

    server.extensions[EXTENSION] = {}
    for method, handler in (("tasks/get", get), ("tasks/update", update), ("tasks/cancel", cancel)):
        server.add_request_handler(method, _params(), handler)


@cache
def _params() -> type[BaseModel]:
    from mcp.types import RequestParams
    from pydantic import Field, create_model

    return create_model(
        "TaskParams",
        __base__=RequestParams,
        task_id=(str, Field(alias="taskId", max_length=200)),
        input_responses=(dict[str, Any] | None, Field(default=None, alias="inputResponses")),
    )
