"""What the model sees: `exec` and `wait`, the text that teaches them, the check of the final payload."""

from codemode.surface.activation import PreparedRun, prepare_run, surface_of
from codemode.surface.controls import bound_to, exec_tool, wait_tool
from codemode.surface.description import NamespaceText, describe_exec
from codemode.surface.payload import PayloadRefused, check_payload
from codemode.surface.quick_index import quick_index
from codemode.surface.rendering import Provider, render_tools

__all__ = [
    "NamespaceText",
    "PayloadRefused",
    "PreparedRun",
    "Provider",
    "bound_to",
    "check_payload",
    "describe_exec",
    "exec_tool",
    "prepare_run",
    "quick_index",
    "render_tools",
    "surface_of",
    "wait_tool",
]
