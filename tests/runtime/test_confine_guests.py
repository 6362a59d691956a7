"""What a confined worker can still do: talk, wait, compute, fail, and run guests to every kind of end."""

import socket
from textwrap import dedent

import pytest

from tests.runtime.confine_subject import finish, outcomes_of, spawn, zygote

HARMLESS = {
    "talk over its socket": ("(pair[0].sendall(b'ping'), pair[1].recv(9))[1]", "b'ping'"),
    "write in pieces": ("(os.writev(pair[0].fileno(), [b'po', b'ng']), pair[1].recv(9))", "(4, b'pong')"),
    "look at its socket without waiting": ("pair[0].recv(1, socket.MSG_DONTWAIT)", "EAGAIN"),
    "select": ("select.select([pair[0]], [], [], 0)", "([], [], [])"),
    "read the clocks": ("time.monotonic() > 0 and time.time() > 0", "True"),
    "sleep": ("time.sleep(0.001)", "None"),
    "draw random bytes": ("len(os.urandom(16))", "16"),
    "use and free memory": ("(len([bytes(4000) for _ in range(9000)]), gc.collect() >= 0)", "(9000, True)"),
    "survive a refused allocation": ("bytearray(1 << 40)", "MemoryError"),
    "format a traceback": ("'ZeroDivisionError' in formatted_failure()", "True"),
    "fail to import lazily": ("__import__('colorsys')", "ModuleNotFoundError"),
    "read its limits": ("resource.getrlimit(resource.RLIMIT_NPROC)", "(0, 0)"),
    "wake a thread": ("(event.set(), answer.wait())[1]", "True"),
    "abort by its own signal": ("os.abort()", "SIGABRT"),
}

LOAD_HARMLESS = """
    import gc, resource, select, threading, time, traceback
    pair = socket.socketpair()
    threading.stack_size(1 << 20)  # as the watchdog's: the default follows `ulimit -s`, and counts as data
    event, answer = threading.Event(), threading.Event()
    def formatted_failure():
        try:
            1 / 0
        except ZeroDivisionError:
            return traceback.format_exc()
    confine = confine_worker
    def confine_worker(*arguments, **options):
        threading.Thread(target=lambda: event.wait() and answer.set(), daemon=True).start()
        return confine(*arguments, **options)
    MEMORY = 1 << 30
"""


@pytest.fixture(scope="module")
def harmless_outcomes() -> dict[str, str]:
    return outcomes_of({name: row[0] for name, row in HARMLESS.items()}, LOAD_HARMLESS)


@pytest.mark.parametrize("name", HARMLESS)
def test_a_worker_can_still(name: str, harmless_outcomes: dict[str, str]) -> None:
    assert harmless_outcomes[name] == HARMLESS[name][1]


GUESTS = {
    "instantiate and run": ("call('add', 40, 2)", "42"),
    "grow its memory": ("(call('grow', 100), call('grow', 100))", "(2, 102)"),
    "trap outside its memory": ("trap('outside')", "'MEMORY_OUT_OF_BOUNDS'"),
    "trap on infinite recursion": ("trap('recurse', 0)", "'STACK_OVERFLOW'"),
    "be interrupted": ("trap('spin')", "'INTERRUPT'"),
    "reserve 4 GiB five times over": ("[call('add', n, n) for n in range(5)]", "[0, 2, 4, 6, 8]"),
    "grow within its worker's memory": ("call('grow', 1024)", "2"),
    "not grow past its worker's memory": ("call('grow', 2048)", "-1"),
    "not grow past it in small steps": ("max(call('grow', 64) for _ in range(32)) < 2048", "True"),
}

LOAD_GUESTS = """
    import threading
    import wasmtime
    config = wasmtime.Config()
    config.epoch_interruption = True
    config.parallel_compilation = False
    engine = wasmtime.Engine(config)
    module = wasmtime.Module(engine, wasmtime.wat2wasm('''
        (module
          (memory (export "memory") 2)
          (data (i32.const 0) "image")
          (func (export "add") (param i32 i32) (result i32) local.get 0 local.get 1 i32.add)
          (func (export "grow") (param i32) (result i32) local.get 0 memory.grow)
          (func (export "outside") (result i32) i32.const -16 i32.load)
          (func $recurse (export "recurse") (param i32) (result i32)
            local.get 0 call $recurse i32.const 1 i32.add)
          (func (export "spin") (loop br 0)))
    '''))
    def instantiate():
        store = wasmtime.Store(engine)
        store.set_epoch_deadline(1)
        return store, wasmtime.Instance(store, module, []).exports(store)
    instantiate()[0].close()  # the first instance makes the memory image, which takes a new descriptor
    guests = []
    def call(name, *arguments):
        if not guests or name == "add":
            guests.append(instantiate())
        store, exports = guests[-1]
        return exports[name](store, *arguments)
    def trap(name, *arguments):
        guests.append(instantiate())
        if name == "spin":
            spinning.set()  # after the guest has its deadline: the thread moves the clock once
        try:
            call(name, *arguments)
        except wasmtime.Trap as trap:
            return trap.trap_code.name
    threading.stack_size(1 << 20)
    spinning = threading.Event()
    confine = confine_worker
    def confine_worker(*arguments, **options):
        threading.Thread(target=lambda: spinning.wait() and engine.increment_epoch(), daemon=True).start()
        return confine(*arguments, **options)
    MEMORY = writable_bytes() + (100 << 20)
"""


@pytest.fixture(scope="module")
def guest_outcomes() -> dict[str, str]:
    return outcomes_of({name: row[0] for name, row in GUESTS.items()}, LOAD_GUESTS)


@pytest.mark.parametrize("name", GUESTS)
def test_a_guest_in_a_confined_worker_can(name: str, guest_outcomes: dict[str, str]) -> None:
    assert guest_outcomes[name] == GUESTS[name][1]


def test_a_confined_zygote_hands_the_socket_of_a_confined_worker_to_its_host() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        control = theirs.fileno()
        script = zygote(keep=(control,)) + dedent(f"""
            control = socket.socket(fileno={control})
            confine_zygote(kernel)
            zygote = os.getpid()
            while control.recv(1):
                near, far = socket.socketpair()
                if os.fork() == 0:
                    control.close()
                    near.close()
                    confine_worker(1 << 30, zygote, kernel=kernel)
                    far.sendall(b"worker heard " + far.recv(99))
                    os._exit(0)
                far.close()
                socket.send_fds(control, [b"w"], [near.fileno()])
                near.close()
                os.wait()
        """)
        subject = spawn(script, keep=(control,))
        theirs.close()
        answers: list[bytes] = []
        for word in (b"one", b"two"):
            ours.sendall(b"f")
            _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
            with socket.socket(fileno=descriptors[0]) as worker:
                worker.sendall(word)
                answers.append(worker.recv(99))
        ours.shutdown(socket.SHUT_RDWR)
        finish(subject)
    assert answers == [b"worker heard one", b"worker heard two"]
    assert subject.returncode == 0
