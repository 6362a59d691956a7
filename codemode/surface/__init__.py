"""What the model sees: `exec` and `wait`, the text that teaches them, the guard over the final payload."""

from codemode.surface.activation import PreparedRun, prepare_run
from codemode.surface.controls import exec_tool, wait_tool
from codemode.surface.description import NamespaceText, describe_exec
from codemode.surface.payload import PayloadRefused, check_payload
from codemode.surface.quick_index import quick_index

__all__ = [
    "NamespaceText",
    "PayloadRefused",
    "PreparedRun",
    "check_payload",
    "describe_exec",
    "exec_tool",
    "prepare_run",
    "quick_index",
    "wait_tool",
]
