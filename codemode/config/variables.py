"""`${NAME}` in configurations that have secrets in them: from the environment. Pure but for reading that."""

from __future__ import annotations

import os
import re

from codemode.config.rules import ConfigError

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def expand(key: str, text: str) -> str:
    """Expands `${NAME}`, `${env:NAME}` and `${NAME:-otherwise}`, which other hosts use in their files.

    Raises ConfigError, which names the variable and repeats nothing else of the text.
    """

    def variable(found: re.Match[str]) -> str:
        name: str = found.group(1)
        otherwise: str | None = found.group(2)
        value = os.environ.get(name, otherwise)
        if value is None:
            raise ConfigError(key, f"names the environment variable {name}, which is not set.")
        return value

    return _VARIABLE.sub(variable, text)
