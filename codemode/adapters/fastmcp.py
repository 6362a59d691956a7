"""FastMCP's code mode with this engine as its sandbox: `FastMCP("x", transforms=[code_mode()])`.

FastMCP hands a program and its `call_tool` to a *sandbox provider*; this one runs JavaScript and TypeScript
in confined workers. What FastMCP itself decides stays so: which tools there are, who may call them.
"""

from __future__ import annotations

import asyncio
import inspect
import keyword
import secrets
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

import msgspec

from codemode.contract.results import Failed
from codemode.engine import Engine
from codemode.tools import CallContext, ToolError, tool

if TYPE_CHECKING:
    from types import TracebackType

    from fastmcp.experimental.transforms.code_mode import CodeMode

DESCRIPTION = """\
Runs a JavaScript or TypeScript program: the body of an async function, so `await` works at the top.
Call tools with `await call_tool(name, params)`, several at once with `Promise.all`; a failed call throws.
Only `return` gives a value: filter and combine results in the program, and return what you need.
There is no network, no file system and no module to import."""

_Functions = Mapping[str, Callable[..., Any]]


class CodemodeSandbox:
    """A sandbox provider. Its engine starts with the first program; `options` are arguments of Engine.

    Close it with `aclose`, or use it as an async context; a process that ends takes its workers with it.
    """

    def __init__(self, **options: Any) -> None:
        if "tools" in options or "mcp" in options:
            raise TypeError("the tools of these programs are FastMCP's own: give none")
        self._options = options
        self._engine: Engine | None = None
        self._starting = asyncio.Lock()
        self._functions: dict[str, _Functions] = {}  # by session: each run has one of its own

    async def run(
        self,
        code: str,
        *,
        inputs: dict[str, Any] | None = None,
        external_functions: dict[str, Callable[..., Any]] | None = None,
    ) -> Any:
        """The value that the program returns. Raises FastMCP's ToolError with what went wrong."""
        from fastmcp.exceptions import ToolError as FastMcpToolError

        engine = await self._started()
        session = f"fastmcp-{secrets.token_hex(16)}"
        self._functions[session] = external_functions or {}
        try:
            result = await engine.run(
                _with_names(code, inputs or {}, external_functions or {}), session=session
            )
        finally:
            del self._functions[session]
        if isinstance(result, Failed):
            raise FastMcpToolError(result.error)
        return result.unwrap()

    async def _started(self) -> Engine:
        async with self._starting:
            if self._engine is None:
                engine = Engine([self._call_tool()], **self._options)
                await engine.start()
                self._engine = engine
            return self._engine

    def _call_tool(self) -> Any:
        @tool(name="external")
        async def external(function: str, given: list[Any], context: CallContext) -> Any:
            """A function of the host, by its name."""
            known = self._functions.get(context.session_id, {}).get(function)
            if known is None:
                raise ToolError(f"there is no function {function[:80]!r}")
            found = known(*given)
            return await found if inspect.isawaitable(found) else found

        return external

    async def aclose(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def code_mode(sandbox: CodemodeSandbox | None = None, **options: Any) -> CodeMode:
    """FastMCP's `CodeMode` with this sandbox and a description for its language; `options` are its own."""
    from fastmcp.experimental.transforms.code_mode import CodeMode

    told: dict[str, Any] = {"execute_description": DESCRIPTION, **options}
    return CodeMode(sandbox_provider=sandbox or CodemodeSandbox(), **told)


def _with_names(code: str, inputs: Mapping[str, Any], functions: _Functions) -> str:
    """The program with what it gets. Functions are declared behind it (they are hoisted), so that places of
    errors stay true."""
    for name in (*inputs, *functions):
        if not name.isidentifier() or not name.isascii() or keyword.iskeyword(name):
            raise ValueError(f"{name[:80]!r} is no name for a program")
    values = [f"const {name}={msgspec.json.encode(value).decode()};" for name, value in inputs.items()]
    calls = [
        f'function {name}(...given){{return tools.external({{function:"{name}",given}})}}'
        for name in functions
    ]
    return "".join((*values, code, "\n", *calls))
