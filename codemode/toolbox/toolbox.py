"""A set of standard tools with one life: `Toolbox("coding", workspace=…)`, for hosts and the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self, get_args

from codemode.config import ConfigError
from codemode.nearest import did_you_mean
from codemode.toolbox.command_rules import CommandRules
from codemode.toolbox.commands import Commands
from codemode.toolbox.fetching import WebLimits
from codemode.toolbox.files import FileLimits, file_tools
from codemode.toolbox.images import image_tool
from codemode.toolbox.memory_notes import memory_tools
from codemode.toolbox.sessions import SessionSource, session_tools
from codemode.toolbox.web import SearchProvider, web_tools
from codemode.toolbox.workspace import Workspace
from codemode.tools import Tool, ToolError

Profile = Literal["minimal", "coding", "web", "full"]
PROFILES: tuple[str, ...] = get_args(Profile)


class Toolbox:
    """`tools` go to an engine, `bind` tells the session tools which engine it is, `close` ends commands.

    minimal: session_status. coding: files, commands, sessions, memory, image, in a workspace. web: web_fetch
    and, with a `search` provider, web_search, beside session_status. full: all of them.
    """

    def __init__(
        self,
        profile: Profile = "coding",
        *,
        workspace: str | Path | Workspace | None = None,
        files: FileLimits | None = None,
        commands: CommandRules | None = None,
        web: WebLimits | None = None,
        search: SearchProvider | None = None,
    ) -> None:
        """Raises ConfigError for an unknown profile, and for one whose packages or folder are missing."""
        if profile not in PROFILES:
            hint = did_you_mean(str(profile), PROFILES)
            raise ConfigError("toolbox", f"must be one of {', '.join(PROFILES)}.{hint}")
        needs_folder = profile in ("coding", "full")
        if needs_folder and workspace is None:
            raise ConfigError(
                "workspace", f'the toolbox "{profile}" needs the folder that its tools work in.'
            )
        self._engine: SessionSource | None = None
        self._commands: Commands | None = None
        self._own_workspace: Workspace | None = None
        status, *sessions = session_tools(self._source)
        self.tools: list[Tool] = [status]
        if profile in ("web", "full"):
            self.tools += web_tools(web, search)
        if needs_folder and workspace is not None:
            if not isinstance(workspace, Workspace):
                workspace = self._own_workspace = Workspace(workspace)
            self._commands = Commands(workspace, commands)
            self.tools += [*sessions, *file_tools(workspace, files), *self._commands.tools()]
            self.tools += [*memory_tools(workspace), image_tool(workspace)]

    def bind(self, engine: SessionSource) -> None:
        """The engine that has these tools: its sessions are the ones that the session tools tell about."""
        self._engine = engine

    async def close(self) -> None:
        """Ends all commands. A workspace that was given as an object stays open."""
        if self._commands is not None:
            await self._commands.close()
        if self._own_workspace is not None:
            self._own_workspace.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _source(self) -> SessionSource:
        if self._engine is None:
            raise ToolError("No engine is bound to this toolbox: call toolbox.bind(engine).", code="unbound")
        return self._engine
