"""`codemode serve --stdio`: the engine as a backend for hosts in any language; see docs/json-rpc.md.

stdout carries the protocol and nothing else. The connection is the host: when it ends, everything that the
host started ends with it.
"""

from __future__ import annotations

import asyncio
from typing import Any

from codemode.executor import ApprovalRequest, Decision
from codemode.executor.approvals import ask as ask_handler
from codemode.serve.json_rpc.methods import Methods
from codemode.serve.json_rpc.peer import Peer
from codemode.serve.lifecycle import ended_by_signals, open_engine, until_either
from codemode.serve.options import ServeOptions
from codemode.serve.pipes import LineReader, LineWriter, standard_lines

_LAST_LINES_SECONDS = 2.0


async def serve_stdio(options: ServeOptions) -> int:
    """Returns the exit code: 0 if the host or a signal ended it. Raises ConfigError before it serves."""
    with ended_by_signals() as ended:
        async with standard_lines(options.max_message_bytes) as (lines, out):
            await until_either(_serve(options, lines, out), ended)
    return 0


async def _serve(options: ServeOptions, lines: LineReader, out: LineWriter) -> None:
    given: dict[str, Any] = dict(options.engine)
    own_approve = given.pop("approve", None)
    methods: list[Methods] = []

    async def approve(request: ApprovalRequest) -> Decision | None:
        """Asks the configured handler first, then the host."""
        decided = await ask_handler(own_approve, request)
        return decided if decided is not None or not methods else await methods[0].decide(request)

    async with open_engine({**given, "approve": approve}) as engine:
        methods.append(Methods(engine, options.max_message_bytes))
        peer = Peer(lines, out, methods[0].handlers)
        methods[0].connect(peer)
        try:
            async with asyncio.TaskGroup() as group:
                served = group.create_task(peer.serve())
                group.create_task(_end_with(peer, lines, out, served))
        finally:
            await peer.close()
            if methods[0].events is not None:
                methods[0].events.cancel()
                await asyncio.gather(methods[0].events, return_exceptions=True)


async def _end_with(peer: Peer, lines: LineReader, out: LineWriter, served: asyncio.Task[None]) -> None:
    """Stops reading after `shutdown`, when the host no longer reads, and soon after the host has closed its
    end: it may have left without reading our last lines."""
    events = [
        asyncio.create_task(event) for event in (lines.ended.wait(), out.until_lost(), peer.ended.wait())
    ]
    await asyncio.wait({served, *events}, return_when=asyncio.FIRST_COMPLETED)
    if lines.ended.is_set():
        await asyncio.wait({served}, timeout=_LAST_LINES_SECONDS)
    for task in (served, *events):
        task.cancel()
    await asyncio.gather(served, *events, return_exceptions=True)
