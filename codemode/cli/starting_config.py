"""The text that `codemode init` writes. Its limits come from the settings table."""

from __future__ import annotations

import json
from collections.abc import Iterator

from codemode.config import CodeModeConfig
from codemode.config.rows import Row, help_of, rows_of

_MAX_LINE = 100
_HEAD = """\
# A configuration of codemode: give it to any command with --config.
# Lines with a # before them show a default, or an example; remove the # to change it.

[toolbox]
profile = "{profile}"          # minimal, coding (files, commands, notes), web (pages) or full (both)
workspace = "."             # the folder that the tools work in; they cannot leave it

[toolbox.commands]
security = "allowlist"      # deny: none; allowlist: what `allow` names; full: anything
ask = "on-miss"             # a person is asked about what `allow` does not name; or off, always
allow = ["git status", "git diff", "ls"]   # by their first words
# environment = {{ CI = "1" }}
# timeoutSeconds = 120

[toolbox.web]
# seconds = 20
# privateHosts = ["wiki.internal"]   # may be fetched although they are not on the public internet

# Which tools programs may use, by name or group (group:fs, group:runtime, group:web …), and which
# need a person.
# [tools]
# deny = ["exec"]
# [policy]
# requireApproval = ["write", "edit", "apply_patch"]

# MCP servers whose tools programs may call, as in other hosts.
# [mcpServers.files]
# command = "npx"
# args = ["-y", "@modelcontextprotocol/server-filesystem", "."]

[tools.codeMode]
enabled = true
"""


def starting_config(profile: str) -> str:
    rows = [row for key, row in rows_of(CodeModeConfig).items() if key != "enabled"]
    return _HEAD.format(profile=profile) + "".join(line for row in rows for line in _lines(row))


def _lines(row: Row) -> Iterator[str]:
    words, line = help_of(row).replace("%%", "%").split(), "#"
    yield "\n"
    for word in words:
        if len(line) + 1 + len(word) > _MAX_LINE:
            yield f"{line}\n"
            line = "#"
        line += f" {word}"
    yield f"{line}\n"
    yield f"# {row.key} = {json.dumps(row.default)}\n"
