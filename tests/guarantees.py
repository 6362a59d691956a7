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
    "resume-in-another-process": "Another process can finish a suspended program from its delta alone.",
}
