"""The debug log: with CODEMODE_DEBUG=1 the engine logs what it does, through standard logging.

Also the one place that makes loggers heard where a debug variable is set (debug_variables.py).

A line says what happened to which run, in identifiers, codes, sizes and shapes. It never holds a program, an
argument, a result, an output or a value of the environment. Without the variable the log stays unconfigured.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from types import TracebackType

from codemode.trajectory.debug_variables import DEBUG, MODEL_PAYLOAD, SSE, VARIABLES
from codemode.trajectory.escape import plain

logging.getLogger("codemode").addHandler(logging.NullHandler())

_MAX_FIELD = 300
_ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def note(log: logging.Logger, event: str, run_id: str, **fields: object) -> None:
    """Logs `event run=… key=value`. Handlers that want data find it as `codemode` on the record."""
    said = {"run": run_id, **{key: value for key, value in fields.items() if value not in (None, "")}}
    words = " ".join(f"{key}={plain(str(value))[:_MAX_FIELD]}" for key, value in said.items())
    log.debug("%s %s", event, words, extra={"codemode": {"event": event, **said}})


def configure_if_asked() -> None:
    """The engine calls this when it starts. Adds no handler if the host already handles the records."""
    if not any(variable.is_set for variable in VARIABLES):
        return
    logger = logging.getLogger("codemode")
    handled = logging.getLogger().handlers or [
        found for found in logger.handlers if not isinstance(found, logging.NullHandler)
    ]
    if not handled:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_Formatter("%(asctime)s %(name)s %(message)s"))
        logger.addHandler(handler)
    for variable, name in ((MODEL_PAYLOAD, "codemode.payload"), (SSE, "codemode.sse")):
        if variable.read() is not None:
            logging.getLogger(name).setLevel(logging.INFO)
    if DEBUG.read() is None:
        return
    logger.setLevel(logging.DEBUG)
    for name in ("codemode.executor", "codemode.tools"):
        inner = logging.getLogger(name)
        if not any(isinstance(found, _Discreet) for found in inner.filters):
            inner.addFilter(_Discreet())


def where(error: BaseException) -> str:
    """The type and place of an error. Its message may hold arguments of the tool."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"


class _Discreet(logging.Filter):
    """Cuts a tool's failure in the debug log to type and place, for every handler."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if record.levelno == logging.DEBUG and error is not None:
            record.msg, record.args = f"{record.getMessage()}: {where(error)}", ()
            record.exc_info = record.exc_text = None
        return True


class _Formatter(logging.Formatter):
    def formatException(self, ei: _ExceptionInfo) -> str:
        return where(ei[1]) if ei[1] is not None else ""
