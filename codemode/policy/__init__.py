"""Tool policy: which tools a run may have, and why."""

from codemode.policy.policy import Explanation, Policy, Resolution, read_allow
from codemode.policy.rules import GROUPS, PROFILES
from codemode.policy.steps import Situation, situation_of

__all__ = [
    "GROUPS",
    "PROFILES",
    "Explanation",
    "Policy",
    "Resolution",
    "Situation",
    "read_allow",
    "situation_of",
]
