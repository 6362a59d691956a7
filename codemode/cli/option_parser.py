"""An argparse parser that tells of an unknown option first, and which one was meant.

argparse takes the word after an unknown option for an argument, and then complains about that: of
`run --tols x -e 1` it says that -e does not go with a file.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from codemode.nearest import did_you_mean


class OptionParser(argparse.ArgumentParser):
    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - typeshed has overloads of it
        for word in args or ():
            if word == "--":
                break
            if self._is_unknown(word):
                name = word.partition("=")[0]
                self.error(f"there is no option {name}.{did_you_mean(name, self._option_string_actions)}")
        return super().parse_known_args(args, namespace)

    def _is_unknown(self, word: str) -> bool:
        """Only for what argparse itself takes for an option: no numbers, and nothing with a blank in it."""
        if (
            not word.startswith("-")
            or word == "-"
            or " " in word
            or self._negative_number_matcher.match(word)
        ):
            return False
        known = self._option_string_actions
        # short options may have their value behind them, and may stand together: -qe1
        return word.partition("=")[0] not in known and (word.startswith("--") or word[:2] not in known)
