"""The control plane: what hosts plug in. Loads neither wasmtime nor a parser: those live in workers.

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # loading typing takes longer than all else that happens here
if TYPE_CHECKING:
    from typing import Any

    from codemode.blocking import BlockingEngine, run
    from codemode.config import CodeModeConfig, ConfigError, EngineSettings, load_config, read_config
    from codemode.contract.results import (
        CodeModeResult,
        Completed,
        Failed,
        RunFailed,
        RunWaiting,
        Waiting,
        to_envelope,
    )
    from codemode.contract.scope import Scope
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
    "RunFailed": "contract.results",
    "RunWaiting": "contract.results",
    "to_envelope": "contract.results",
    "Scope": "contract.scope",
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
    "RunFailed",
    "RunWaiting",
    "Scope",
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
