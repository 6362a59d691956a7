"""A reference host in Python for `codemode serve --stdio`: the standard library and nothing else.

The protocol is docs/json-rpc.md. Copy this file and change it; it knows nothing of the codemode package.

    async with Client(["codemode", "serve", "--stdio"], tools=[Tool("add", add, parameters={...})]) as client:
        result = await client.exec("return await tools.add({ a: 1, b: 2 })", session="s1")
        while result["status"] == "waiting":
            result = await client.wait(result["runId"], session="s1")
"""

from __future__ import annotations

import asyncio
import itertools
import json
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

PROTOCOL_VERSION = 1
MAX_LINE = 64 << 20  # of the engine; what it takes is in its answer to initialize
PATIENCE_SECONDS = 10.0
TOOL_FAILED, INVALID_ARGUMENTS, METHOD_NOT_FOUND = 1, -32602, -32601

Json = dict[str, Any]


class EngineError(Exception):
    """The engine answered with an error of the protocol; a program that fails is a result and no error."""

    def __init__(self, error: Json) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.data: Any = error.get("data")


class EngineGone(Exception):
    """The engine ended before it answered."""


class ToolFailed(Exception):
    """Raised by a tool: the program gets the message and the data, and can catch it."""

    def __init__(self, message: str, data: Any = None, code: int = TOOL_FAILED) -> None:
        super().__init__(message)
        self.data, self.code = data, code


@dataclass
class Call:
    """One call of a tool: its arguments are apart; here is who calls, and how to report progress."""

    run_id: str
    call_id: str
    idempotency_key: str
    session: str
    progress: Callable[[Any], Awaitable[None]]


Run = Callable[[Json, Call], Awaitable[Any]]


@dataclass
class Tool:
    """`more` are the other fields of a descriptor: returns, source, owner, label, hints."""

    name: str
    run: Run
    description: str = ""
    parameters: Json = field(default_factory=lambda: {"type": "object"})
    more: Json = field(default_factory=dict[str, Any])

    def describe(self) -> Json:
        words = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {**words, **self.more}


# An approval as the engine asks for it; the answer is approve, deny or later, with a reason or none.
Approve = Callable[[Json], Awaitable[tuple[str, str]]]


class Client:
    """One engine in a child process. Requests may run side by side."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        tools: Sequence[Tool] = (),
        on_event: Callable[[Json], None] | None = None,
        approve: Approve | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.server: Json = {}  # what the engine said of itself
        self.process: Process | None = None
        self._command, self._env = command, env
        self._tools = {tool.name: tool for tool in tools}
        self._on_event, self._approve = on_event, approve
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._calls: dict[int | str, asyncio.Task[None]] = {}
        self._reader: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Client:
        self.process = await asyncio.create_subprocess_exec(
            *self._command, stdin=PIPE, stdout=PIPE, limit=MAX_LINE, env=self._env
        )
        self._reader = asyncio.create_task(self._read())
        self.server = await self.request(
            "initialize",
            {
                "protocolVersion": PROTOCOL_VERSION,
                "client": {"name": "codemode_client.py"},
                "tools": [tool.describe() for tool in self._tools.values()],
                "events": self._on_event is not None,
                "approvals": self._approve is not None,
            },
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        with suppress(EngineGone, EngineError):
            await self.request("shutdown")
        await self.close()

    async def close(self) -> None:
        """Closes the pipe, which is all it takes: an engine ends with its host."""
        assert self.process is not None, "use `async with`"
        assert self.process.stdin is not None, "it was opened with a pipe"
        assert self._reader is not None, "it is started with the process"
        self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), PATIENCE_SECONDS)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
        await self._reader

    # ---- requests ------------------------------------------------------------------------------------------

    async def prepare(self, **params: Any) -> Json:
        return await self.request("prepare", params)

    async def exec(self, program: str | Json, **params: Any) -> Json:
        given = {"code": program} if isinstance(program, str) else program
        return await self.request("exec", {"input": given, **params})

    async def wait(self, run_id: str, **params: Any) -> Json:
        return await self.request("wait", {"input": {"runId": run_id}, **params})

    async def abort(self, run_id: str, **params: Any) -> bool:
        return (await self.request("abort", {"runId": run_id, **params}))["aborted"]

    async def approve(self, run_id: str, approval_id: str, **params: Any) -> bool:
        return (await self.request("approve", {"runId": run_id, "approvalId": approval_id, **params}))[
            "decided"
        ]

    async def deny(self, run_id: str, approval_id: str, **params: Any) -> bool:
        which = {"runId": run_id, "approvalId": approval_id}
        return (await self.request("deny", {**which, **params}))["decided"]

    async def request(self, method: str, params: Json | None = None) -> Any:
        """Raises EngineError and EngineGone. Cancelled, it cancels the request, and a run with it."""
        if self._reader is None or self._reader.done():
            raise EngineGone
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            await self._send({"id": number, "method": method, "params": params or {}})
            return await answer
        except asyncio.CancelledError:
            await self._send({"method": "cancel", "params": {"id": number}})
            raise
        finally:
            del self._answers[number]

    async def _send(self, message: Json) -> None:
        assert self.process is not None, "use `async with`"
        assert self.process.stdin is not None, "it was opened with a pipe"
        # The id comes first: the engine can then name a message that is too long for it.
        with suppress(ConnectionError):  # an engine that is gone is noticed by the reader
            self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            await self.process.stdin.drain()

    # ---- what the engine sends -----------------------------------------------------------------------------

    async def _read(self) -> None:
        assert self.process is not None, "started with it"
        assert self.process.stdout is not None, "it was opened with a pipe"
        while line := await self.process.stdout.readline():
            self._take(json.loads(line))
        calls = list(self._calls.values())
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(EngineGone())

    def _take(self, message: Json) -> None:
        method, params = message.get("method"), message.get("params", {})
        if method is None:
            self._settle(message)
        elif method == "cancel":
            call = self._calls.get(params["id"])
            if call is not None:
                call.cancel()
        elif method == "event":
            if self._on_event is not None:
                self._on_event(params)
        elif "id" in message:
            task = asyncio.create_task(self._serve(message["id"], method, params))
            self._calls[message["id"]] = task
            task.add_done_callback(lambda _: self._calls.pop(message["id"], None))

    def _settle(self, message: Json) -> None:
        answer = self._answers.get(message["id"])
        if answer is None or answer.done():
            return  # to a request that was cancelled
        if "error" in message:
            answer.set_exception(EngineError(message["error"]))
        else:
            answer.set_result(message["result"])

    async def _serve(self, number: int | str, method: str, params: Json) -> None:
        """Runs what the engine asks for. A cancelled call is answered too: the engine waits for it."""
        try:
            answer: Json = {"result": await self._run(number, method, params)}
        except ToolFailed as failure:
            answer = {"error": {"code": failure.code, "message": str(failure), "data": failure.data}}
        except asyncio.CancelledError:
            answer = {"error": {"code": TOOL_FAILED, "message": "cancelled"}}
        except Exception as error:
            answer = {"error": {"code": TOOL_FAILED, "message": f"{type(error).__name__}: {error}"}}
        await self._send({"id": number, **answer})

    async def _run(self, number: int | str, method: str, params: Json) -> Json:
        if method == "approvals/ask" and self._approve is not None:
            decision, reason = await self._approve(params)
            return {"decision": decision, "reason": reason}
        if method != "tools/call" or params["name"] not in self._tools:
            raise ToolFailed(f"this host has no {method} {params.get('name', '')}", code=METHOD_NOT_FOUND)

        async def progress(value: Any) -> None:
            await self._send({"method": "progress", "params": {"id": number, "progress": value}})

        call = Call(params["runId"], params["callId"], params["idempotencyKey"], params["session"], progress)
        return {"value": await self._tools[params["name"]].run(params["arguments"], call)}
