"""All fuzzers by name, in the order they run: the pure ones first."""

from __future__ import annotations

from tests.fuzz.config_fuzzer import configurations
from tests.fuzz.declaration_fuzzer import declarations
from tests.fuzz.differential_fuzzer import engine_suspension, guest_suspension
from tests.fuzz.frame_fuzzer import frames, rogue_workers
from tests.fuzz.gate_fuzzer import gate
from tests.fuzz.intake_fuzzer import mcp_messages, schemas
from tests.fuzz.native_fuzzer import native_functions
from tests.fuzz.program_fuzzer import programs
from tests.fuzz.rpc_fuzzer import lines, live_server
from tests.fuzz.runner import Opener
from tests.fuzz.snapshot_fuzzer import delta_bytes, envelopes, store_files
from tests.fuzz.typescript_fuzzer import typescript_texts
from tests.fuzz.worker_fuzzer import worker_orders

# Decoders of foreign bytes in pure Python: also what coverage-guided runs can look into.
DECODERS: dict[str, Opener] = {
    "frames": frames,
    "gate": gate,
    "envelopes": envelopes,
    "config": configurations,
    "rpc": lines,
    "declarations": declarations,
    "mcp-messages": mcp_messages,
    "schemas": schemas,
}
FUZZERS: dict[str, Opener] = {
    **DECODERS,
    "store-files": store_files,
    "deltas": delta_bytes,
    "native": native_functions,
    "typescript": typescript_texts,
    "guest-suspension": guest_suspension,
    "engine-suspension": engine_suspension,
    "programs": programs,
    "rogue-workers": rogue_workers,
    "worker-orders": worker_orders,
    "rpc-server": live_server,
}
