"""The host's end of one zygote: starts it, has it make and kill workers, and learns how they ended.

Workers are the zygote's children, so only the zygote can signal and reap them without a race; the host asks
it to. The host can rely on that because the zygote is its own child, and killing it kills all its workers.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from codemode_runtime import zygote_wire
from codemode_runtime.frames import FrameRefused, frame_parts
from codemode_runtime.shapes import Layer
from codemode_runtime.zygote_wire import Flavour, FromZygote, Setup, ToZygote

from codemode.workers.channel import Channel
from codemode.workers.child_process import ChildProcess, End
from codemode.workers.head_start import end_ahead, start_process, take_ahead

# How long a worker may take to end after it was told to; after that its zygote counts as stuck and is killed.
_REAP_SECONDS = 5.0
# How long a worker that is no longer needed may take to end by itself. Then it is killed: what a compromised
# one does from here on nobody has asked for, beside the workers that are counted.
LINGER_SECONDS = 0.05


class Child(Protocol):
    """A worker as its zygote sees it: the zygote sets `pid`, or why it got none, and calls `exited`."""

    token: int
    pid: int | None
    refusal: str
    was_dismissed: bool

    def exited(self, status: int | None) -> None: ...


class Watcher(Protocol):
    """The owner of a zygote, which hears of its life."""

    def zygote_is_ready(self, zygote: Zygote) -> None: ...
    def zygote_is_compiling(self, zygote: Zygote) -> None: ...
    def zygote_has_ended(self, zygote: Zygote, reason: str) -> None: ...


class _Order(NamedTuple):
    spawn: zygote_wire.Spawn
    connection: socket.socket


class Zygote:
    """Alive from `__init__` until `zygote_has_ended`; `close` asks it to end."""

    def __init__(self, setup: Setup, entry: str, watcher: Watcher, image: Path | None = None) -> None:
        self.flavour: Flavour = setup.flavour
        self.forks = setup.fork
        self.build_id = ""
        self.layers: tuple[Layer, ...] = ()
        self.is_ready = False
        self.has_served = False  # at least one of its workers became ready
        self._watcher = watcher
        self._loop = asyncio.get_running_loop()
        self._children: dict[int, Child] = {}
        self._doomed: dict[int, asyncio.TimerHandle] = {}
        self._orders: list[_Order] = []  # given before it was ready
        self._reason = ""
        connection, start, abandon = _process_of(entry, image)
        self._channel = Channel(connection, lambda frame: self._on_message(frame.head), self._on_end)
        self._keeper = ChildProcess(start, abandon, self._on_process_end)
        self._send(setup)

    @property
    def pid(self) -> int | None:
        return self._keeper.pid

    def spawn(self, child: Child, connection: socket.socket, hurry: bool) -> None:
        """Makes a worker with `connection` as its socket; closes our copy once the zygote has it."""
        self._children[child.token] = child
        order = _Order(zygote_wire.Spawn(child.token, hurry), connection)
        if self.is_ready:
            self._hand_over(order)
        else:
            self._orders.append(order)

    def kill(self, child: Child) -> None:
        if child.token not in self._children or child.token in self._doomed:
            return
        if self.forks:
            self._send(zygote_wire.Kill(child.token))
        else:
            self._keeper.kill()
        self._expect_end(child)

    def expect_exit(self, child: Child) -> None:
        """Call when the child's socket is closed. A child that does not end by itself at once is killed."""
        child.was_dismissed = True
        if child.token in self._children and child.token not in self._doomed:
            late = self._loop.call_later(LINGER_SECONDS, self._insist, child)
            self._doomed[child.token] = late

    def close(self) -> None:
        """Ends the zygote and all its workers at once."""
        if self.forks and self.is_ready:
            self._channel.close()  # it reaps its workers, then ends
        else:
            self._keeper.kill()

    def kill_process(self) -> None:
        self._keeper.kill()

    def _insist(self, child: Child) -> None:
        del self._doomed[child.token]
        self.kill(child)

    def _expect_end(self, child: Child) -> None:
        self._doomed[child.token] = self._loop.call_later(_REAP_SECONDS, self._keeper.kill)

    def _hand_over(self, order: _Order) -> None:
        self._channel.send(frame_parts(zygote_wire.encode(order.spawn)), order.connection)

    def _send(self, message: ToZygote) -> None:
        self._channel.send(frame_parts(zygote_wire.encode(message)))

    def _on_message(self, head: bytes) -> None:
        message: FromZygote = zygote_wire.read_zygote(head)
        match message:
            case zygote_wire.Compiling():
                self._watcher.zygote_is_compiling(self)
            case zygote_wire.Unavailable(reason):
                self._reason = reason
            case zygote_wire.ZygoteReady(build_id, layers):
                self.build_id, self.layers, self.is_ready = build_id, layers, True
                for order in self._orders:
                    self._hand_over(order)
                self._orders.clear()
                self._watcher.zygote_is_ready(self)
            case zygote_wire.Spawned(token, pid):
                if token in self._children:
                    self._children[token].pid = pid
            case zygote_wire.NotSpawned(token, reason):
                if token in self._children:
                    self._children[token].refusal = reason
                self._forget(token, 1)
            case zygote_wire.Exited(token, status):
                self._forget(token, status)

    def _forget(self, token: int, status: int | None) -> None:
        doomed = self._doomed.pop(token, None)
        if doomed is not None:
            doomed.cancel()
        child = self._children.pop(token, None)
        if child is not None:
            child.exited(status)

    def _on_end(self, refused: FrameRefused | None) -> None:
        """The control socket closed: the process is ending or must. Without fork it ends by itself."""
        if self.forks or refused is not None:
            self._keeper.kill()

    def _on_process_end(self, end: End) -> None:
        self._channel.drain()  # its last messages, such as why it did not start, may still be in the socket
        was_the_worker = self.is_ready and not self.forks
        self.is_ready = False
        self._channel.close()
        for order in self._orders:
            order.connection.close()
        self._orders.clear()
        for token in list(self._children):
            # without fork the process was the worker itself; with fork, the death signal kills the workers
            self._forget(token, end.status if was_the_worker else None)
        self._watcher.zygote_has_ended(self, self._reason or end.complaint or f"its status was {end.status}")


def _process_of(
    entry: str, image: Path | None
) -> tuple[socket.socket, Callable[[], subprocess.Popen[bytes]], Callable[[], None]]:
    """Our end of its socket, what starts it, and what undoes that; one started ahead runs already."""
    started = take_ahead(entry) if image is None else None
    if started is not None:
        return started.control, lambda: started.process, lambda: end_ahead(started)
    ours, theirs = socket.socketpair()

    def start() -> subprocess.Popen[bytes]:
        with theirs:
            return start_process(entry, theirs.fileno(), image)

    return ours, start, theirs.close
