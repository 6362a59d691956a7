"""The zygote of checkers: a confined process that has loaded their parsers and forks them on demand.

The host starts it with an empty environment and one socket, and hands it a socket for each worker it wants.
After confinement it runs no guest and reads nothing that a guest wrote. It ends when the host's end of its
socket closes, for any reason, and ends its workers too. It has one thread, so that forking is sound.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from codemode_runtime import confine, wire, zygote_wire
from codemode_runtime.checker import CheckerLoop, rehearse
from codemode_runtime.confine.kernel import this_kernel
from codemode_runtime.confine.layers import attempt
from codemode_runtime.confine.measures import death_signal
from codemode_runtime.confine.sight import Sight
from codemode_runtime.frames import FrameReader, encode_frame
from codemode_runtime.image import is_private
from codemode_runtime.line import Line
from codemode_runtime.loading import Loaded, load
from codemode_runtime.shapes import Layer
from codemode_runtime.zygote_wire import FromZygote, Kill, Setup, Spawn, ToZygote

Serve = Callable[[Line, Loaded, int, bool], None]
_CHUNK = 64 << 10
_MAX_DESCRIPTORS = 64  # in one read; more than the host ever has on the way


def serve_host(line: Line, loaded: Loaded, parent_pid: int, hurry: bool) -> None:
    """The life of a checker: starts its last thread, confines itself, then does what the host asks for."""
    checker = CheckerLoop(line)
    if loaded.confined:
        layers = confine.confine_worker(loaded.data_bytes, parent_pid)
    else:
        layers = _only_mortal(parent_pid)
    if not hurry:
        rehearse(loaded.flavour)
    checker.serve(layers)


def main(control_fd: int, host_pid: int, serve: Serve = serve_host) -> NoReturn:
    """The process from start to end. Tests pass a `serve` that behaves differently."""
    status = 1
    try:
        ZygoteLoop(socket.socket(fileno=control_fd), host_pid, serve).run()
        status = 0
    finally:
        if status:
            _print_failure()
        # no interpreter shutdown: there is nothing to save, and it would slow down workers
        os._exit(status)


class ZygoteLoop:
    def __init__(self, control: socket.socket, host_pid: int, serve: Serve) -> None:
        self._control = control
        self._host_pid = host_pid
        self._serve = serve
        self._reader = FrameReader()
        self._descriptors: deque[int] = deque()
        self._pids: dict[int, int] = {}  # of living workers, by token
        self._tokens: dict[int, int] = {}  # of living workers, by pid

    def run(self) -> None:
        setup = self._receive_setup()
        if setup is None:
            return
        # asked first: in our own namespace it cannot be told
        trusted = bool(setup.cache) and is_private(Path(setup.cache))
        if setup.confined:
            early = confine.prepare_zygote([self._control.fileno()], self._host_pid)
        else:
            early = _only_mortal(self._host_pid)
        try:
            self._loaded = load(setup, trusted, lambda: self._send(zygote_wire.Compiling()))
        except Exception as error:  # the host is told whatever keeps guests from running
            self._send(zygote_wire.Unavailable(f"{type(error).__name__}: {error}"))
            return
        self._settle_down()
        layers = tuple(_confined(early) if setup.confined else early)
        self._send(zygote_wire.ZygoteReady(self._loaded.build_id, layers))
        if setup.fork:
            self._fork_on_demand()
        else:
            self._become_the_worker()

    def _settle_down(self) -> None:
        """Does what must happen before confinement and is worth sharing with every fork."""
        rehearse(self._loaded.flavour)
        # nothing can be printed afterwards: workers must not hold a descriptor that leads anywhere
        os.dup2(0, 1)
        os.dup2(0, 2)
        self._wake_up, wake_up_writer = socket.socketpair()
        self._wake_up.setblocking(False)
        wake_up_writer.setblocking(False)
        self._wake_up_writer = wake_up_writer
        signal.signal(signal.SIGCHLD, _ignore)
        signal.set_wakeup_fd(wake_up_writer.fileno(), warn_on_full_buffer=False)
        gc.collect()
        gc.freeze()  # a collection would touch, and so copy, the pages that forks share
        gc.disable()

    # ---- with fork

    def _fork_on_demand(self) -> None:
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wake_up, select.POLLIN)
        while True:
            ready = {fd for fd, _ in poll.poll()}
            if self._wake_up.fileno() in ready:
                with suppress(BlockingIOError):
                    self._wake_up.recv(_CHUNK)
                self._reap()
            if self._control.fileno() in ready:
                orders = self._receive()
                if orders is None:
                    self._end_workers()
                    return
                for order in orders:
                    self._obey(order)

    def _obey(self, order: ToZygote) -> None:
        match order:
            case Spawn(token, hurry):
                self._fork(token, self._descriptors.popleft(), hurry)
            case Kill(token):
                # only a parent can be sure whose pid it signals: until it reaps, no other process gets it
                if token in self._pids:
                    os.kill(self._pids[token], signal.SIGKILL)
            case Setup():
                raise AssertionError("set up twice")

    def _fork(self, token: int, descriptor: int, hurry: bool) -> None:
        own_pid = os.getpid()
        try:
            pid = os.fork()
        except OSError as refusal:  # the system has no room for this one; those that live are not concerned
            os.close(descriptor)
            self._send(zygote_wire.NotSpawned(token, refusal.strerror or str(refusal)))
            return
        if pid == 0:
            self._live_as_worker(descriptor, own_pid, hurry)
        os.close(descriptor)
        self._pids[token] = pid
        self._tokens[pid] = token
        self._send(zygote_wire.Spawned(token, pid))

    def _live_as_worker(self, descriptor: int, parent_pid: int, hurry: bool) -> NoReturn:
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for inherited in (self._control, self._wake_up, self._wake_up_writer):
                inherited.close()
            self._serve(Line(socket.socket(fileno=descriptor)), self._loaded, parent_pid, hurry)
            status = 0
        finally:
            os._exit(status)

    def _reap(self) -> None:
        while self._tokens:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            token = self._tokens.pop(pid)
            del self._pids[token]
            self._send(zygote_wire.Exited(token, os.waitstatus_to_exitcode(status)))

    def _end_workers(self) -> None:
        for pid in self._tokens:
            os.kill(pid, signal.SIGKILL)
        for pid in self._tokens:
            os.waitpid(pid, 0)

    # ---- without

    def _become_the_worker(self) -> None:
        """Without fork there is one worker, so its token does not matter: this process ends with it."""
        while not self._descriptors:
            if self._receive() is None:
                return
        line = Line(socket.socket(fileno=self._descriptors.popleft()))
        self._serve(line, self._loaded, self._host_pid, True)

    # ---- the line to the host

    def _receive_setup(self) -> Setup | None:
        orders = self._receive()
        while orders == []:
            orders = self._receive()
        if orders is None:
            return None
        (setup,) = orders
        assert isinstance(setup, Setup)
        return setup

    def _receive(self) -> list[ToZygote] | None:
        data, descriptors, _, _ = socket.recv_fds(self._control, _CHUNK, _MAX_DESCRIPTORS)
        self._descriptors.extend(descriptors)
        if not data:
            return None
        return [zygote_wire.read_as_zygote(frame.head) for frame in self._reader.feed(data)]

    def _send(self, message: FromZygote) -> None:
        self._control.sendall(encode_frame(wire.encode(message)))


def _confined(early: list[Layer]) -> list[Layer]:
    """Confines the loaded zygote and reports every layer, as the kernel shows it."""
    with Sight() as sight:
        return sight.checked(confine.combine(early, confine.confine_zygote()))


def _only_mortal(parent_pid: int) -> list[Layer]:
    """For confinement that is off: a process still dies with its host, which is no part of confinement."""
    return [attempt("death_signal", lambda: death_signal(this_kernel(), parent_pid))]


def _ignore(_number: int, _frame: object) -> None:
    """A handler, because an ignored SIGCHLD would not wake the poll and would reap children unseen."""


def _print_failure() -> None:
    import traceback

    with suppress(OSError):
        traceback.print_exc()
