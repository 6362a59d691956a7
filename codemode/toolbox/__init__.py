"""Standard tools that an agent host would otherwise write itself. Off unless asked for."""

from codemode.toolbox.command_rules import CommandRules
from codemode.toolbox.commands import Commands
from codemode.toolbox.fetching import WebLimits
from codemode.toolbox.files import FileLimits, file_tools
from codemode.toolbox.images import image_tool
from codemode.toolbox.memory_notes import memory_tools
from codemode.toolbox.sessions import SessionSource, session_tools
from codemode.toolbox.toolbox import PROFILES, Profile, Toolbox
from codemode.toolbox.web import SearchProvider, web_tools
from codemode.toolbox.workspace import Workspace

__all__ = [
    "PROFILES",
    "CommandRules",
    "Commands",
    "FileLimits",
    "Profile",
    "SearchProvider",
    "SessionSource",
    "Toolbox",
    "WebLimits",
    "Workspace",
    "file_tools",
    "image_tool",
    "memory_tools",
    "session_tools",
    "web_tools",
]
