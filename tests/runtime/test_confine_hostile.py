"""What a confined zygote and its workers cannot do, tried from the inside in real processes."""

import pytest

from tests.runtime.confine_subject import need, outcomes_of, system_layers

# name: (attempt, outcome with every layer, outcome when Landlock and the namespaces stand alone)
HOSTILE: dict[str, tuple[str, str, str | None]] = {
    "open a file": ("open('/etc/passwd')", "EACCES", "EACCES"),
    "create a file": ("open('/tmp/made-by-a-worker', 'w')", "EACCES", "EACCES"),
    "list /proc": ("os.listdir('/proc')", "EACCES", "EACCES"),
    "read its environment block": ("open('/proc/self/environ')", "EACCES", "EACCES"),
    "read the parent's memory by path": ("open(f'/proc/{os.getppid()}/mem', 'rb')", "EACCES", "EACCES"),
    "look at a path": ("os.stat('/')", "EACCES", None),
    "make a directory": ("os.mkdir('/tmp/made-by-a-worker')", "SIGSYS", "EACCES"),
    "make a socket": ("socket.socket()", "SIGSYS", None),
    "connect a socket it inherited": ("tcp.connect(('127.0.0.1', 9))", "SIGSYS", "EACCES"),
    "send a datagram": ("udp.sendto(b'x', ('127.0.0.1', 9))", "SIGSYS", "ENETUNREACH"),
    "pass a descriptor on": ("socket.send_fds(pair[0], [b'x'], [0])", "SIGSYS", None),
    "duplicate a descriptor": ("os.dup(0)", "EPERM", None),
    "make a pipe": ("os.pipe()", "SIGSYS", None),
    "fork": ("os.fork()", "SIGSYS", None),
    "start a thread": ("_thread.start_new_thread(print, ())", "SIGSYS", None),
    "spawn a program": ("os.posix_spawn('/bin/true', ['true'], {})", "SIGSYS", None),
    "become a program": ("os.execv('/bin/true', ['true'])", "SIGSYS", "EACCES"),
    "trace the parent": ("check(libc.ptrace(16, os.getppid(), 0, 0))", "SIGSYS", "EPERM"),
    "read the parent's memory": (
        "check(libc.process_vm_readv(os.getppid(), vector, 1, vector, 1, 0))",
        "SIGSYS",
        "EPERM",
    ),
    "signal the parent": ("os.kill(os.getppid(), 0)", "SIGSYS", None),
    "signal the host": ("os.kill(host, 0)", "SIGSYS", "EPERM"),
    "signal by a descriptor": ("fcntl.fcntl(0, fcntl.F_SETOWN, os.getppid())", "EPERM", None),
    "map executable memory": ("mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, 7)", "SIGSYS", "EACCES"),
    "make written memory executable": ("check(libc.mprotect(page, 4096, 5))", "SIGSYS", "EACCES"),
    "write over code that ctypes made": ("ctypes.memset(code, 0, 1)", "SIGSEGV", "SIGSEGV"),
    "run that code, as it may": ("callback()", "17", "17"),
    "map more than page tables are allowed for": (
        "mmap.mmap(-1, 1 << 40, mmap.MAP_PRIVATE, 1)",
        "ENOMEM",
        "ENOMEM",
    ),
    "let its stack grow without bound": (
        "resource.getrlimit(resource.RLIMIT_STACK)[1] <= 96 << 20",
        "True",
        "True",
    ),
    "move the place where others read a file": ("os.read(shared, 1)", "EPERM", None),
    "change the flags of a file that others have": (
        "fcntl.fcntl(0, fcntl.F_SETFL, os.O_NONBLOCK)",
        "EPERM",
        None,
    ),
    "make a file of others non-blocking": ("os.set_blocking(0, False)", "ENOTTY", None),
    "map memory that no limit counts": ("mmap.mmap(-1, 4096)", "SIGSYS", None),
    "raise a limit": ("resource.setrlimit(resource.RLIMIT_CPU, (999, 999))", "ValueError", "ValueError"),
    "loosen its filter": ("check(libc.prctl(22, 0, 0, 0, 0))", "EPERM", None),
    "make itself dumpable": ("check(libc.prctl(4, 1, 0, 0, 0))", "EPERM", None),
    "enter new namespaces": ("check(libc.unshare(0x10000000))", "SIGSYS", None),
    "see an environment": ("sorted(os.environ.keys() - {'LC_CTYPE'})", "[]", "[]"),
}

LOAD_HOSTILE = """
    import _thread, ctypes, fcntl, mmap, resource
    libc = ctypes.CDLL(None, use_errno=True)
    libc.process_vm_readv.argtypes = [ctypes.c_long] * 6
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    buffer = ctypes.create_string_buffer(8)
    words = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
    vector = ctypes.addressof(words)
    anonymous = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE)
    anonymous[:4] = b"code"
    page = ctypes.addressof(ctypes.c_char.from_buffer(anonymous))
    def check(result):
        if result < 0:
            raise OSError(ctypes.get_errno(), "")
    tcp, udp = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
    pair = socket.socketpair()
    host = os.getppid()
    callback = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 17)
    code = ctypes.cast(callback, ctypes.c_void_p).value
    shared = os.open(sys.executable, os.O_RDONLY)
    MEMORY = 1 << 30
"""


@pytest.fixture(scope="module")
def hostile_outcomes() -> dict[str, str]:
    need("seccomp")
    return outcomes_of({name: row[0] for name, row in HOSTILE.items()}, LOAD_HOSTILE)


@pytest.fixture(scope="module")
def outcomes_without_seccomp() -> dict[str, str]:
    need("namespaces", "landlock", "no_new_code", "limits", "not_dumpable")
    if not any("no signal to outside" in layer.detail for layer in system_layers()):
        pytest.skip("this Landlock does not know signals yet")
    attempts = {name: attempt for name, (attempt, _, outcome) in HOSTILE.items() if outcome is not None}
    return outcomes_of(attempts, LOAD_HOSTILE, without=("seccomp", "NOFILE"))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_worker_cannot(name: str, hostile_outcomes: dict[str, str]) -> None:
    assert hostile_outcomes[name] == HOSTILE[name][1]


@pytest.mark.parametrize("name", [name for name, row in HOSTILE.items() if row[2] is not None])
def test_without_seccomp_the_other_layers_hold_and_a_worker_cannot(
    name: str, outcomes_without_seccomp: dict[str, str]
) -> None:
    assert outcomes_without_seccomp[name] == HOSTILE[name][2]


ZYGOTE = {
    "open a file": ("open('/etc/passwd')", "EACCES"),
    "import lazily": ("__import__('colorsys')", "ModuleNotFoundError"),
    "make a socket": ("socket.socket()", "SIGSYS"),
    "become a program": ("os.execv('/bin/true', ['true'])", "SIGSYS"),
    "map executable memory": ("mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, 7)", "SIGSYS"),
    "enter new namespaces": ("libc.unshare(0x10000000)", "SIGSYS"),
    "fork into new namespaces": ("libc.syscall(CLONE, 0x10000011, 0, 0, 0, 0)", "SIGSYS"),
    "signal the host": ("os.kill(host, 0)", "EPERM"),
}

LOAD_ZYGOTE = """
    import ctypes, mmap
    from codemode_runtime.confine.syscalls import numbers
    libc = ctypes.CDLL(None)
    CLONE = numbers(kernel.machine)["clone"]
    host = os.getppid()
    MEMORY = 0
    def confine_worker(*arguments, **options):
        "These forks stay what the zygote is."
"""


@pytest.fixture(scope="module")
def zygote_outcomes() -> dict[str, str]:
    need("seccomp", "landlock")
    return outcomes_of({name: row[0] for name, row in ZYGOTE.items()}, LOAD_ZYGOTE)


@pytest.mark.parametrize("name", ZYGOTE)
def test_a_zygote_cannot(name: str, zygote_outcomes: dict[str, str]) -> None:
    assert zygote_outcomes[name] == ZYGOTE[name][1]


def test_with_its_limits_alone_a_worker_has_no_descriptor_left_to_open() -> None:
    need("limits")
    attempts = {"pipe": "os.pipe()", "socket": "socket.socket()", "duplicate": "os.dup(0)"}
    outcomes = outcomes_of(attempts, "MEMORY = 1 << 30", without=("seccomp", "landlock_create_ruleset"))
    assert outcomes == {"pipe": "EMFILE", "socket": "EMFILE", "duplicate": "EMFILE"}


def test_the_filter_also_binds_a_thread_that_was_running_before_it() -> None:
    need("seccomp")
    load = """
        import threading
        go, done = threading.Event(), threading.Event()
        confine = confine_worker
        def confine_worker(*arguments, **options):
            threading.Thread(target=lambda: go.wait() and socket.socket() and done.set(), daemon=True).start()
            return confine(*arguments, **options)
        MEMORY = 1 << 30
    """
    assert outcomes_of({"socket": "(go.set(), done.wait())"}, load) == {"socket": "SIGSYS"}
