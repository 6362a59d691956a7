"""Standard tools that an agent host would otherwise write itself. Off unless asked for."""

from codemode.toolbox.command_rules import CommandRules
from codemode.toolbox.commands import Commands
from codemode.toolbox.files import FileLimits, file_tools
from codemode.toolbox.workspace import Workspace

__all__ = ["CommandRules", "Commands", "FileLimits", "Workspace", "file_tools"]
