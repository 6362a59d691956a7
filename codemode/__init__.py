"""The control plane: what hosts import. It loads neither wasmtime nor a parser: those live in workers.

A name is loaded when it is first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import gc
from importlib import import_module

TYPE_CHECKING = False  # loading typing takes longer than everything else here
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from codemode_snapshots import KeyRefused, StoreUnavailable

    from codemode.blocking import BlockingEngine, BlockingEvents, run
    from codemode.catalog.searches import Ranker as Ranker
    from codemode.catalog.searches import SearchRequest
    from codemode.config import CodeModeConfig, ConfigError, EngineSettings, load_config, read_config
    from codemode.contract import events as events
    from codemode.contract.envelope import to_envelope
    from codemode.contract.error_codes import CALL_ERRORS as CALL_ERRORS
    from codemode.contract.error_codes import ERRORS as ERRORS
    from codemode.contract.error_codes import ErrorCode as ErrorCode
    from codemode.contract.events import (
        ApprovalClosed,
        ApprovalOpened,
        CallFinished,
        CallStarted,
        CallUpdated,
        Event,
        LimitHit,
        LoopLate,
        OutputAdded,
        RunFinished,
        RunResumed,
        RunStarted,
        RunSuspended,
        ToolsChanged,
    )
    from codemode.contract.report import (
        EngineStats,
        EngineTotals,
        LoopStats,
        McpServerStats,
        RunInfo,
        WorkerStats,
        WorldInfo,
        ZygoteStats,
    )
    from codemode.contract.results import (
        CodeModeResult,
        Completed,
        Failed,
        FileOutput,
        ImageOutput,
        JsonOutput,
        Output,
        PendingApproval,
        PendingCall,
        RunFailed,
        RunWaiting,
        TextOutput,
        Waiting,
    )
    from codemode.contract.scope import Scope
    from codemode.contract.telemetry import CallError, CallRecord, Telemetry
    from codemode.engine import Engine
    from codemode.executor import (
        AfterToolCall,
        AnswerWith,
        ApprovalRequest,
        AuditEvent,
        BeforeToolCall,
        Block,
        CallFailed,
        CallOk,
        Decision,
        NeedsApproval,
        RequireApproval,
        Rewrite,
    )
    from codemode.executor import Approve as Approve
    from codemode.executor import Audit as Audit
    from codemode.health import Health, HealthCheck
    from codemode.mcp.credentials import McpCaller
    from codemode.namespaces import Namespace, NamespaceContext, namespace_tool
    from codemode.otel import OpenTelemetry
    from codemode.plugins import Plugin, PluginHealth
    from codemode.policy import Policy
    from codemode.replay.bundle import Bundle, BundleRefused, load_bundle, read_bundle
    from codemode.replay.difference import Difference
    from codemode.replay.replaying import Replay, replay_bundle
    from codemode.runs.event_hub import Subscription
    from codemode.runs.exports import ExportError
    from codemode.runs.forks import ForkError
    from codemode.runs.history import Checkpoint
    from codemode.runs.open_approvals import OpenApproval
    from codemode.runs.run_details import RunDetails
    from codemode.runs.run_lists import RunPage, RunQuery, RunSummary
    from codemode.runs.run_report import ErrorReport, RunReport
    from codemode.runs.whole_run import OnWaiting as OnWaiting
    from codemode.surface import PayloadRefused, PreparedRun, check_payload, render_tools
    from codemode.surface import Provider as Provider
    from codemode.tool_search import ToolSearch, comparison_report
    from codemode.tools import (
        AnswerNeeded,
        CallContext,
        Content,
        File,
        Image,
        InvalidArguments,
        Tool,
        ToolDefinitionError,
        ToolError,
        ToolHints,
        tool,
    )
    from codemode.trajectory import (
        Part,
        SessionTrajectory,
        Trajectory,
        TrajectoryRefused,
        load_trajectory,
        read_trajectory,
    )
    from codemode.trajectory import Redactor as Redactor

    __version__: str

# Each public name is in one of these modules.
_NAMES = {
    "codemode.blocking": "BlockingEngine BlockingEvents run",
    "codemode.catalog.searches": "SearchRequest",
    "codemode.config": "CodeModeConfig ConfigError EngineSettings load_config read_config",
    "codemode.contract.envelope": "to_envelope",
    "codemode.contract.events": (
        "ApprovalClosed ApprovalOpened CallFinished CallStarted CallUpdated Event LimitHit "
        "LoopLate OutputAdded RunFinished RunResumed RunStarted RunSuspended ToolsChanged"
    ),
    "codemode.contract.report": (
        "EngineStats EngineTotals LoopStats McpServerStats RunInfo WorkerStats WorldInfo ZygoteStats"
    ),
    "codemode.contract.results": (
        "CodeModeResult Completed Failed FileOutput ImageOutput JsonOutput Output PendingApproval "
        "PendingCall RunFailed RunWaiting TextOutput Waiting"
    ),
    "codemode.contract.scope": "Scope",
    "codemode.contract.telemetry": "CallError CallRecord Telemetry",
    "codemode.engine": "Engine",
    "codemode.executor": (
        "AfterToolCall AnswerWith ApprovalRequest AuditEvent BeforeToolCall Block CallFailed CallOk Decision "
        "NeedsApproval RequireApproval Rewrite"
    ),
    "codemode.health": "Health HealthCheck",
    "codemode.mcp.credentials": "McpCaller",
    "codemode.namespaces": "Namespace NamespaceContext namespace_tool",
    "codemode.otel": "OpenTelemetry",
    "codemode.plugins": "Plugin PluginHealth",
    "codemode.policy": "Policy",
    "codemode.replay.bundle": "Bundle BundleRefused load_bundle read_bundle",
    "codemode.replay.difference": "Difference",
    "codemode.replay.replaying": "Replay replay_bundle",
    "codemode.runs.event_hub": "Subscription",
    "codemode.runs.exports": "ExportError",
    "codemode.runs.forks": "ForkError",
    "codemode.runs.history": "Checkpoint",
    "codemode.runs.open_approvals": "OpenApproval",
    "codemode.runs.run_details": "RunDetails",
    "codemode.runs.run_lists": "RunPage RunQuery RunSummary",
    "codemode.runs.run_report": "ErrorReport RunReport",
    "codemode.surface": "PayloadRefused PreparedRun check_payload render_tools",
    "codemode.tool_search": "ToolSearch comparison_report",
    "codemode.tools": (
        "AnswerNeeded CallContext Content File Image InvalidArguments Tool ToolDefinitionError "
        "ToolError ToolHints tool"
    ),
    "codemode.trajectory": (
        "Part SessionTrajectory Trajectory TrajectoryRefused load_trajectory read_trajectory"
    ),
    "codemode_snapshots": "KeyRefused StoreUnavailable",
}
# For annotations and look-ups; docs/reference.md has no entry for each of them.
_FURTHER = {
    "codemode.contract.error_codes": "CALL_ERRORS ERRORS ErrorCode",
    "codemode.catalog.searches": "Ranker",
    "codemode.executor": "Approve Audit",
    "codemode.runs.whole_run": "OnWaiting",
    "codemode.trajectory": "Redactor",
    "codemode.surface": "Provider",
}
_HOME = {name: home for names in (_NAMES, _FURTHER) for home, own in names.items() for name in own.split()}

__all__ = [
    "AfterToolCall",
    "AnswerNeeded",
    "AnswerWith",
    "ApprovalClosed",
    "ApprovalOpened",
    "ApprovalRequest",
    "AuditEvent",
    "BeforeToolCall",
    "Block",
    "BlockingEngine",
    "BlockingEvents",
    "Bundle",
    "BundleRefused",
    "CallContext",
    "CallError",
    "CallFailed",
    "CallFinished",
    "CallOk",
    "CallRecord",
    "CallStarted",
    "CallUpdated",
    "Checkpoint",
    "CodeModeConfig",
    "CodeModeResult",
    "Completed",
    "ConfigError",
    "Content",
    "Decision",
    "Difference",
    "Engine",
    "EngineSettings",
    "EngineStats",
    "EngineTotals",
    "ErrorReport",
    "Event",
    "ExportError",
    "Failed",
    "File",
    "FileOutput",
    "ForkError",
    "Health",
    "HealthCheck",
    "Image",
    "ImageOutput",
    "InvalidArguments",
    "JsonOutput",
    "KeyRefused",
    "LimitHit",
    "LoopLate",
    "LoopStats",
    "McpCaller",
    "McpServerStats",
    "Namespace",
    "NamespaceContext",
    "NeedsApproval",
    "OpenApproval",
    "OpenTelemetry",
    "Output",
    "OutputAdded",
    "Part",
    "PayloadRefused",
    "PendingApproval",
    "PendingCall",
    "Plugin",
    "PluginHealth",
    "Policy",
    "PreparedRun",
    "Replay",
    "RequireApproval",
    "Rewrite",
    "RunDetails",
    "RunFailed",
    "RunFinished",
    "RunInfo",
    "RunPage",
    "RunQuery",
    "RunReport",
    "RunResumed",
    "RunStarted",
    "RunSummary",
    "RunSuspended",
    "RunWaiting",
    "Scope",
    "SearchRequest",
    "SessionTrajectory",
    "StoreUnavailable",
    "Subscription",
    "Telemetry",
    "TextOutput",
    "Tool",
    "ToolDefinitionError",
    "ToolError",
    "ToolHints",
    "ToolSearch",
    "ToolsChanged",
    "Trajectory",
    "TrajectoryRefused",
    "Waiting",
    "WorkerStats",
    "WorldInfo",
    "ZygoteStats",
    "check_payload",
    "comparison_report",
    "load_bundle",
    "load_config",
    "load_trajectory",
    "namespace_tool",
    "read_bundle",
    "read_config",
    "read_trajectory",
    "render_tools",
    "replay_bundle",
    "run",
    "to_envelope",
    "tool",
]


def __getattr__(name: str) -> Any:
    value: Any
    if name == "events":
        value = import_module("codemode.contract.events")
    elif name == "__version__":
        value = _version()
    elif name in _HOME:
        value = getattr(_loaded(_HOME[name]), name)
    else:
        raise AttributeError(f"module 'codemode' has no attribute {name!r}")
    globals()[name] = value
    return value


def _loaded(home: str) -> ModuleType:
    """Loads without garbage collections in between: modules make little garbage, and looking for it takes a
    tenth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return import_module(home)
    finally:
        if was_enabled:
            gc.enable()


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("codemode")
    except PackageNotFoundError:  # a source tree that is not installed
        return "0+source"


def __dir__() -> list[str]:
    return __all__
