"""Confinement against a kernel that lacks or refuses things: every gap has a name, and nothing raises."""

import errno
import mmap
import os
from collections.abc import Mapping
from unittest.mock import patch

import pytest
from codemode_runtime.confine import (
    GUARANTEES,
    Layer,
    combine,
    confine_worker,
    confine_zygote,
    prepare_zygote,
    unmet,
)
from codemode_runtime.confine.kernel import AbsentKernel, Kernel
from codemode_runtime.confine.sight import Sight
from codemode_runtime.confine.syscalls import Machine


class PaperKernel:
    """Agrees to every call and does nothing, except for those it was told to refuse, and what the second
    filter, that of a worker, forbids."""

    filters_to_refuse = 2

    def __init__(self, refusals: Mapping[str, int] | None = None, landlock_abi: int = 7) -> None:
        self._refusals = refusals or {}
        self._landlock_abi = landlock_abi
        self.calls: list[tuple[str, tuple[int, ...]]] = []
        self.limits: dict[str, int] = {}

    @property
    def machine(self) -> Machine:
        return "x86_64"

    def call(self, name: str, *arguments: int) -> int:
        key = f"prctl {arguments[0]}" if name == "prctl" else name
        if key in self._refusals:
            number = self._refusals[key]
            raise OSError(number, f"{key}: {errno.errorcode[number]}")
        if name == "prctl" and [made for made, _ in self.calls].count("seccomp") >= self.filters_to_refuse:
            raise OSError(errno.EPERM, "prctl: EPERM")
        self.calls.append((name, arguments))
        if name == "landlock_create_ruleset":
            # Asked for its version, or for a descriptor that the caller will close.
            return self._landlock_abi if arguments[0] == 0 else os.open(os.devnull, os.O_RDONLY)
        return 0

    def limit(self, name: str, value: int) -> int:
        if name in self._refusals:
            raise OSError(self._refusals[name], errno.errorcode[self._refusals[name]])
        self.limits[name] = value
        return value


class UnsynchronisedKernel(PaperKernel):
    """Has another thread with a filter of its own: seccomp then returns that thread's id."""

    def call(self, name: str, *arguments: int) -> int:
        return 77 if name == "seccomp" else super().call(name, *arguments)


def prepare(kernel: Kernel, environment: Mapping[str, str] | None = None) -> list[Layer]:
    """The first stage as if this process had been started with this environment only."""
    with patch.dict(os.environ, environment or {}, clear=True):
        return prepare_zygote([9, 5], os.getppid(), kernel)


def every_stage(kernel: Kernel) -> list[Layer]:
    return combine(
        prepare(kernel),
        confine_zygote(kernel),
        confine_worker(1 << 28, os.getppid(), kernel=kernel),
    )


def statuses(layers: list[Layer]) -> dict[str, str]:
    return {layer.name: layer.status for layer in layers if layer.status != "active"}


def test_a_filter_that_forbids_nothing_is_reported_as_failed() -> None:
    class Deaf(PaperKernel):
        filters_to_refuse = 99

    layers = {layer.name: layer for layer in every_stage(Deaf())}
    assert (layers["seccomp"].status, layers["seccomp"].detail) == (
        "failed",
        "seccomp: the kernel allows what the filter forbids",
    )


@pytest.mark.parametrize("shown", [-1, 1 << 50])
def test_a_limit_that_does_not_show_is_reported_as_failed(shown: int) -> None:
    class Forgetful(PaperKernel):
        def limit(self, name: str, value: int) -> int:
            return shown if name == "DATA" else value

    layers = {layer.name: layer for layer in every_stage(Forgetful())}
    assert (layers["limits"].status, layers["limits"].detail) == (
        "failed",
        f"data: the kernel shows {shown}",
    )


def test_a_kernel_that_has_everything_leaves_no_gap() -> None:
    layers = every_stage(PaperKernel())
    assert statuses(layers) == {}
    assert unmet(layers) == []
    assert {layer.name for layer in layers} == {name for names in GUARANTEES.values() for name in names}


@pytest.mark.parametrize(
    ("refusals", "gaps", "broken"),
    [
        ({"close_range": errno.ENOSYS}, {"descriptors": "missing"}, ["no inherited descriptors"]),
        ({"prctl 38": errno.EINVAL}, {"no_new_privs": "missing"}, ["no new privileges"]),
        ({"unshare": errno.EPERM}, {"namespaces": "failed"}, []),
        ({"prctl 1": errno.EPERM}, {"death_signal": "failed"}, ["dies with its parent"]),
        ({"prctl 4": errno.EPERM}, {"not_dumpable": "failed"}, ["not readable by other processes"]),
        ({"landlock_create_ruleset": errno.ENOSYS}, {"landlock": "missing"}, ["no file by path"]),
        ({"landlock_create_ruleset": errno.EOPNOTSUPP}, {"landlock": "missing"}, ["no file by path"]),
        ({"landlock_restrict_self": errno.EPERM}, {"landlock": "failed"}, ["no file by path"]),
        ({"capset": errno.EPERM}, {"capabilities": "failed"}, ["no capabilities"]),
        ({"prctl 65": errno.EINVAL}, {"no_new_code": "missing"}, []),
        ({"seccomp": errno.EINVAL}, {"seccomp": "missing"}, ["few system calls"]),
        ({"NPROC": errno.EPERM}, {"limits": "failed"}, ["bounded resources"]),
        (
            {"unshare": errno.EPERM, "seccomp": errno.ENOSYS},
            {"namespaces": "failed", "seccomp": "missing"},
            ["no network", "few system calls"],
        ),
        (
            {"prctl 65": errno.EINVAL, "seccomp": errno.ENOSYS},
            {"no_new_code": "missing", "seccomp": "missing"},
            ["no new executable memory", "few system calls"],
        ),
    ],
)
def test_a_refused_call_is_a_gap_with_a_name_and_the_other_layers_hold(
    refusals: dict[str, int], gaps: dict[str, str], broken: list[str]
) -> None:
    layers = every_stage(PaperKernel(refusals))
    assert statuses(layers) == gaps
    assert unmet(layers) == broken


def test_the_reason_of_a_gap_names_the_call_and_the_error() -> None:
    layers = prepare(PaperKernel({"close_range": errno.ENOSYS}))
    assert layers[0] == Layer("descriptors", "missing", "close_range: ENOSYS")


def test_a_system_without_our_calls_reports_each_layer_as_missing() -> None:
    assert prepare(AbsentKernel("not Linux but plan9")) == [
        Layer("descriptors", "missing", "not Linux but plan9"),
        Layer("environment", "active", "empty"),
        Layer("no_new_privs", "missing", "not Linux but plan9"),
        Layer("namespaces", "missing", "not Linux but plan9"),
        Layer("death_signal", "missing", "not Linux but plan9"),
    ]


def test_a_machine_without_call_numbers_has_no_seccomp() -> None:
    class Unknown(PaperKernel):
        @property
        def machine(self) -> Machine:
            raise OSError(errno.ENOSYS, "no system call table for riscv64")

    assert confine_zygote(Unknown())[-1] == Layer("seccomp", "missing", "no system call table for riscv64")


def test_a_thread_that_cannot_take_the_filter_makes_seccomp_fail() -> None:
    layers = confine_zygote(UnsynchronisedKernel())
    assert layers[-1] == Layer("seccomp", "failed", "seccomp: thread 77 has a filter of its own")


def test_a_passed_environment_is_reported_without_its_names_and_values() -> None:
    layers = prepare(PaperKernel(), {"API_KEY": "hunter2", "LC_CTYPE": "C.UTF-8"})
    assert layers[1] == Layer("environment", "failed", "the parent passed 1 environment variables")


def test_only_the_kept_descriptors_stay_open() -> None:
    kernel = PaperKernel()
    prepare(kernel)
    closed = [arguments for name, arguments in kernel.calls if name == "close_range"]
    assert closed == [(3, 4, 0), (6, 8, 0), (10, 0xFFFFFFFF, 0)]


def test_a_privileged_process_without_user_namespaces_still_leaves_the_network() -> None:
    class NoUserNamespaces(PaperKernel):
        def call(self, name: str, *arguments: int) -> int:
            if name == "unshare" and arguments[0] & 0x10000000:
                raise OSError(errno.ENOSPC, "unshare: ENOSPC")
            return super().call(name, *arguments)

    layers = prepare(NoUserNamespaces())
    assert layers[3] == Layer("namespaces", "active", "own network, ipc and uts namespaces")


@pytest.mark.parametrize(
    ("abi", "detail"),
    [
        (1, "ABI 1: no path"),
        (4, "ABI 4: no path, no TCP"),
        (6, "ABI 6: no path, no TCP, no signal to outside"),
    ],
)
def test_landlock_says_what_its_version_covers(abi: int, detail: str) -> None:
    layers = confine_zygote(PaperKernel(landlock_abi=abi))
    assert layers[2] == Layer("landlock", "active", detail)


def test_the_limits_that_can_be_set_are_set_when_one_cannot() -> None:
    kernel = PaperKernel({"CPU": errno.EPERM})
    layers = confine_worker(1 << 28, os.getppid(), kernel=kernel)
    assert layers[1] == Layer("limits", "failed", "cpu: EPERM")
    assert kernel.limits.keys() == {"DATA", "AS", "STACK", "NPROC", "NOFILE"}
    assert (kernel.limits["DATA"], kernel.limits["NPROC"]) == (1 << 28, 0)


def test_a_layer_of_two_stages_is_as_good_as_the_worse() -> None:
    good, bad = Layer("seccomp", "active", "a"), Layer("seccomp", "failed", "b")
    assert combine([good], [bad]) == combine([bad], [good]) == [bad]
    assert combine([good], [good]) == [good]
    assert combine([good], [Layer("seccomp", "active", "c")]) == [Layer("seccomp", "active", "a; c")]


def test_no_layers_meet_no_guarantee() -> None:
    assert unmet([]) == list(GUARANTEES)


def test_a_layer_that_the_kernel_does_not_show_is_reported_as_failed() -> None:
    claimed = [Layer("no_new_code", "active", "said"), Layer("limits", "active", "said")]
    every_right = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    with mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, every_right), Sight() as sight:
        code, limits = sight.checked(claimed)
    assert (code.status, limits.status) == ("failed", "active")
    assert code.detail.endswith("mappings are writable and executable")
