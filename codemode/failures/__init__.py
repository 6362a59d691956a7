"""What the model reads when a run fails: an error code and a text that helps.

`explain_*` turn each way a leg can end badly into a code and a text: name, message, position, source line and
a hint. Codes come from the kind of the event, never from the text of an error, which the program can choose.
"""

from codemode.contract.explained import Explained
from codemode.failures.available import GLOBALS, Available
from codemode.failures.explain import (
    Program,
    explain_failure,
    explain_refusal,
    explain_stop,
    explain_timeout,
)
from codemode.failures.hints import hint_for_unawaited
from codemode.failures.nothing import hint_for_nothing

__all__ = [
    "GLOBALS",
    "Available",
    "Explained",
    "Program",
    "explain_failure",
    "explain_refusal",
    "explain_stop",
    "explain_timeout",
    "hint_for_nothing",
    "hint_for_unawaited",
]
