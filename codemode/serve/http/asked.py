"""One request, read and checked, as a handler gets it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from codemode.engine import Engine
from codemode.serve.http.caller import HttpCaller
from codemode.serve.http.errors import HttpRefused
from codemode.serve.http.state import ServerState

Q = TypeVar("Q")
B = TypeVar("B")
T = TypeVar("T")


class ClientGone(Exception):
    """The client went away; there is nobody to answer."""


@dataclass(frozen=True, slots=True)
class HttpAsked(Generic[Q, B]):
    """`query` and `body` have the shapes that the endpoint names."""

    engine: Engine
    state: ServerState
    caller: HttpCaller
    path: Mapping[str, str]
    headers: Mapping[str, str]
    query: Q
    body: B
    receive: Callable[[], Awaitable[Mapping[str, Any]]]

    def require_ready(self) -> None:
        """For what begins new work. Raises HttpRefused."""
        if self.state.is_draining:
            raise HttpRefused(503, "This server is about to end and begins nothing new; ask another one.")

    async def unless_gone(self, work: Coroutine[Any, Any, T]) -> T:
        """Does the work; stops it when the client goes away. Raises ClientGone."""
        doing, gone = asyncio.create_task(work), asyncio.create_task(self._until_gone())
        try:
            await asyncio.wait({doing, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                raise ClientGone
            return doing.result()
        finally:
            gone.cancel()
            doing.cancel()
            await asyncio.gather(doing, gone, return_exceptions=True)

    async def _until_gone(self) -> None:
        while (await self.receive()).get("type") != "http.disconnect":
            pass
