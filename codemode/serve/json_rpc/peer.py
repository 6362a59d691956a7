"""Talks to one host over one pair of pipes: its requests run side by side, ours wait for its answers.

Everything is bounded: requests at once, bytes of a line; and it writes nothing while the host does not read.
When the host is gone, all its requests are cancelled.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from codemode_snapshots import StoreUnavailable
from msgspec import Raw, Struct

from codemode.serve.json_rpc import messages as rpc
from codemode.serve.json_rpc.messages import (
    ErrorObject,
    Id,
    MessageRefused,
    Notification,
    Reply,
    Request,
    RpcError,
)
from codemode.serve.pipes import LineReader, LineTooLong, LineWriter, PeerGone

_log = logging.getLogger("codemode.serve")

MAX_REQUESTS = 256
# A host that was told to cancel a call gets this long to answer it; below the grace of the executor.
_CANCEL_SECONDS = 1.0

Handler = Callable[[Raw], Awaitable[Any]]
OnProgress = Callable[[Any], None]


class HostRefused(Exception):
    """The host answered with an error."""

    def __init__(self, error: ErrorObject) -> None:
        super().__init__(error.message)
        self.error = error


class _Cancel(Struct, forbid_unknown_fields=True):
    id: Id
    reason: str = ""


class _Progress(Struct, forbid_unknown_fields=True):
    id: Id
    progress: Any = None


@dataclass(slots=True)
class _Question:
    answer: asyncio.Future[Raw]
    on_progress: OnProgress | None


class Peer:
    """`handlers` are by method; the answer to `shutdown` is the last line sent."""

    def __init__(self, lines: LineReader, out: LineWriter, handlers: Mapping[str, Handler]) -> None:
        self._lines = lines
        self._out = out
        self._handlers = handlers
        self._numbers = itertools.count(1)
        self._questions: dict[Id, _Question] = {}
        self._running: dict[Id, asyncio.Task[None]] = {}
        self._is_closed = False
        self.ended = asyncio.Event()  # by shutdown, or because the host no longer reads

    # ---- what the host sends -------------------------------------------------------------------------------

    async def serve(self) -> None:
        """Serves until the host's output ends."""
        while not self.ended.is_set():
            try:
                line = await self._lines.read()
                if line is None:
                    return
                if line.strip():
                    await self._take(rpc.decode(line))
            except LineTooLong as problem:
                await self._refuse_long(problem)
            except MessageRefused as refused:
                await self._send(rpc.encode_error(refused.id, refused))

    async def _take(self, message: Request | Notification | Reply) -> None:
        match message:
            case Request():
                await self._begin(message)
            case Reply():
                self._settle(message)
            case Notification(method="cancel"):
                self._cancel(message.params)
            case Notification(method="progress"):
                self._tell_progress(message.params)
            case Notification():
                _log.warning("the host sent a notification that nobody knows: %.80r", message.method)

    async def _begin(self, request: Request) -> None:
        if request.id in self._running:
            raise MessageRefused(rpc.INVALID_REQUEST, "a request with this id is still running", request.id)
        handler = self._handlers.get(request.method)
        if handler is None:
            known = ", ".join(sorted(self._handlers))
            raise MessageRefused(
                rpc.METHOD_NOT_FOUND, f"there is no method {request.method[:80]!r}: {known}", request.id
            )
        if len(self._running) >= MAX_REQUESTS:
            raise MessageRefused(
                rpc.BUSY, f"{MAX_REQUESTS} requests are running; wait for one of them", request.id
            )
        task = asyncio.create_task(self._run(request, handler), name=f"codemode rpc {request.method}")
        self._running[request.id] = task
        task.add_done_callback(lambda _: self._running.pop(request.id, None))

    async def _run(self, request: Request, handler: Handler) -> None:
        try:
            line = rpc.encode_result(request.id, await handler(request.params))
        except RpcError as error:
            line = rpc.encode_error(request.id, error)
        except StoreUnavailable as error:
            line = rpc.encode_error(request.id, RpcError(rpc.STORE_UNAVAILABLE, f"the store: {error}"))
        except asyncio.CancelledError:  # only `cancel` and `close` cancel, and both want an answer
            line = rpc.encode_error(request.id, RpcError(rpc.CANCELLED, "the request was cancelled"))
        except Exception:
            _log.exception("%s failed", request.method)
            line = rpc.encode_error(request.id, RpcError(rpc.INTERNAL_ERROR, "the engine failed"))
        await self._send(line)
        if request.method == "shutdown":
            self.ended.set()

    def _settle(self, reply: Reply) -> None:
        question = self._questions.pop(reply.id, None)
        if question is None or question.answer.done():
            _log.warning("the host answered what nobody asked, or what was given up: %.80r", reply.id)
        elif reply.error is not None:
            question.answer.set_exception(HostRefused(reply.error))
        else:
            question.answer.set_result(reply.result or Raw(b"null"))

    def _cancel(self, params: Raw) -> None:
        asked = self._read_notice(params, _Cancel)
        task = None if asked is None else self._running.get(asked.id)
        if task is not None:
            task.cancel()

    def _tell_progress(self, params: Raw) -> None:
        told = self._read_notice(params, _Progress)
        question = None if told is None else self._questions.get(told.id)
        if told is not None and question is not None and question.on_progress is not None:
            question.on_progress(told.progress)

    def _read_notice(self, params: Raw, shape: type[rpc.T]) -> rpc.T | None:
        """Logs a notification that cannot be read: a notification has no answer."""
        try:
            return rpc.read_params(params, shape)
        except RpcError as error:
            _log.warning("a notification of the host cannot be read: %s", error)
            return None

    async def _refuse_long(self, problem: LineTooLong) -> None:
        id, is_answer = rpc.id_of_head(problem.head) or (None, False)
        if is_answer and id is not None:
            error = ErrorObject(rpc.INVALID_REQUEST, f"the host's answer is too long: {problem}")
            self._settle(Reply(id, None, error))
        else:
            await self._send(rpc.encode_error(id, MessageRefused(rpc.INVALID_REQUEST, str(problem))))

    # ---- what the host is sent -----------------------------------------------------------------------------

    async def ask(self, method: str, params: Any, on_progress: OnProgress | None = None) -> Raw:
        """Raises HostRefused. If cancelled, tells the host and waits a moment for its answer.

        A host that is gone never answers; the engine ends with it and cancels the tasks that wait here. For
        the program of a stored run the call was then in flight, and may run again.
        """
        id = f"engine-{next(self._numbers)}"
        answer: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        self._questions[id] = _Question(answer, on_progress)
        try:
            await self._send(rpc.encode_request(id, method, params))
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            await self.tell("cancel", {"id": id})
            if not self._is_closed:
                await asyncio.wait({answer}, timeout=_CANCEL_SECONDS)
            raise
        finally:
            self._questions.pop(id, None)
            if answer.done():
                _ = answer.cancelled() or answer.exception()  # asyncio complains if it is not retrieved
            else:
                answer.cancel()

    async def tell(self, method: str, params: Any) -> None:
        await self._send(rpc.encode_notification(method, params))

    async def _send(self, line: bytes) -> None:
        if self._is_closed:  # the last lines, for a host that still reads
            return self._out.offer(line)
        try:
            await self._out.send(line)
        except PeerGone:
            self.ended.set()

    async def close(self) -> None:
        """Cancels all requests of the host and waits until they have ended."""
        self._is_closed = True
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
