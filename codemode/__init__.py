"""The control plane: what hosts import. It loads neither wasmtime nor a parser: those live in workers.

A name is loaded when it is first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # loading typing takes longer than everything else here
if TYPE_CHECKING:
    from typing import Any

    from codemode.blocking import BlockingEngine, run
    from codemode.config import CodeModeConfig, ConfigError, EngineSettings, load_config, read_config
    from codemode.contract.results import CodeModeResult, Completed, Failed, Waiting, to_envelope
    from codemode.engine import Engine
    from codemode.namespaces import Namespace, namespace_tool
    from codemode.tools import CallContext, Tool, ToolError, ToolHints, tool
    from codemode.trajectory import Trajectory, load_trajectory

_HOME = {
    "BlockingEngine": "blocking",
    "run": "blocking",
    "CodeModeConfig": "config",
    "ConfigError": "config",
    "EngineSettings": "config",
    "load_config": "config",
    "read_config": "config",
    "CodeModeResult": "contract.results",
    "Completed": "contract.results",
    "Failed": "contract.results",
    "Waiting": "contract.results",
    "to_envelope": "contract.results",
    "Engine": "engine",
    "Namespace": "namespaces",
    "namespace_tool": "namespaces",
    "Trajectory": "trajectory",
    "load_trajectory": "trajectory",
    "CallContext": "tools",
    "Tool": "tools",
    "ToolError": "tools",
    "ToolHints": "tools",
    "tool": "tools",
}

__all__ = [
    "BlockingEngine",
    "CallContext",
    "CodeModeConfig",
    "CodeModeResult",
    "Completed",
    "ConfigError",
    "Engine",
    "EngineSettings",
    "Failed",
    "Namespace",
    "Tool",
    "ToolError",
    "ToolHints",
    "Trajectory",
    "Waiting",
    "load_config",
    "load_trajectory",
    "namespace_tool",
    "read_config",
    "run",
    "to_envelope",
    "tool",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'codemode' has no attribute {name!r}")
    value = getattr(import_module(f"codemode.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
