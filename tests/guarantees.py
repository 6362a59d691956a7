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
}
