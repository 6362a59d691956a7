"""What the project promises, one sentence each; a promise without a test fails tests/test_guarantees.py.

A test that shows one carries `@pytest.mark.guarantee("id")`; several tests may show the same one.
"""

GUARANTEES: dict[str, str] = {
    # the project
    "planes-are-separate": "Neither the execution nor the persistence plane loads another plane.",
    "host-stays-light": "Importing codemode loads no WebAssembly engine, no parser and no compressor.",
    # the guest image
    "source-is-pinned": "The guest is built from source with the pinned hash; nothing of other source runs.",
    "image-is-vouched-for": "The manifest names the image by hash, with every version, flag and file in it.",
    "build-explains-itself": "An image that cannot be built ends with one sentence and exit code 1.",
    # the guest
    "suspension-is-invisible": "Frozen and restored at every await, a program ends as its straight run does.",
    "guest-is-quickjs": "Programs evaluate in the guest as in native QuickJS-NG.",
    "boundary-is-narrow": "The guest imports four functions: clock, entropy, and two for the descriptor.",
    "nothing-leaks": "Everything that a program can reach is on a list.",
    "api-is-frozen": "No part of the guest API can be replaced, extended or deleted by a program.",
    "bridge-is-out-of-reach": "Messages stay the same bytes whatever intrinsics a program breaks.",
    "declarations-need-no-bridge": "API.list, API.read and $api send no message.",
    "losses-are-listed": "Each lossy conversion of the final value is listed by its path.",
    "wrapper-cannot-be-closed": "A program is a function body to its last character, or does not run.",
    "positions-are-exact": "Errors name the line and column of the program's own text.",
    "no-silent-failure": "A failure that nobody handled fails the run.",
    "heap-limit-is-hard": "Going over the heap ends the guest; no program can catch it.",
    "batch-is-refused-whole": "A batch of calls over the cap ends the guest; no program can catch it.",
    "recursion-is-catchable": "Deep recursion is an error that the program can catch, never a trap.",
    "interruption-keeps-output": "A computing program is interrupted whatever it catches, its output kept.",
    "deltas-load-or-refuse": "Any bytes are a delta or are refused with one exception.",
    "lies-cost-no-process": "A delta whose content lies never crashes the process that restores it.",
    "freed-memory-does-not-count": "Memory that was used and freed is not in a delta.",
    "resume-in-another-process": "Another process can finish a suspended program from what was stored.",
    # exec and wait
    "off-unless-enabled": "Code mode is off unless it is true or an object with `enabled: true`.",
    "every-error-code": "Each code is reached through the public API, with its phase and the output so far.",
    "no-modules": "import, export and require are refused before anything runs.",
    "no-host-access": "Filesystem, network, process and environment do not exist in a program.",
    "typescript-works": "TypeScript runs, and its compiler is not loaded for JavaScript.",
    "loops-do-not-block-the-host": "An endless loop times out while the host's event loop goes on working.",
    "memory-failure-ends-the-vm": "A program that goes over its heap is ended and reported, whatever it catches.",
    "output-cap-holds": "Output and value stay within maxOutputBytes, in an exec and in every wait.",
    "snapshot-cap-holds": "No snapshot over maxSnapshotBytes is stored, at the first suspension or later.",
    "wait-restores": "wait restores a suspended program and delivers its final value.",
    "suspension-changes-nothing": "Suspended at any await, a program has the value, output and ledger it has straight.",
    "wrong-scope-fails": "Outside its scope, or with a field of it missing, a run does not exist.",
    "expired-runs-fail": "An expired run says so in its own scope and is unknown in any other.",
    "aborted-runs-fail": "An aborted run says so in its own scope and is unknown in any other.",
    "ends-leave-nothing": "Timeout, abort, expiry and close leave no process, task, thread, file or running tool.",
    "all-tools-and-no-more": "A program sees the effective tools; a denied one cannot be called by a guessed id.",
    "no-recursion": "Programs cannot call the model's own exec and wait; a host's shell of that name they can.",
    "nested-calls-keep-the-rules": "Hooks and approvals see nested calls under the real tool's name.",
    # durable runs
    "runs-survive-the-engine": "A suspended run survives kill -9 of its engine, and the next engine resumes it.",
    "in-flight-calls-are-interrupted": "After a restart a call in flight is an interrupted error, to be caught.",
    "idempotent-calls-run-again": "After a restart an idempotent call in flight runs again with the same key.",
    "approvals-survive-the-engine": "An approval that was asked for can be given after a restart, under its id.",
    "one-engine-resumes-a-run": "Of several engines on one file at most one has a run.",
    "nothing-runs-twice": "Wherever the engine is killed, no call runs twice unless its tool is idempotent.",
}
