"""Tool policy: which tools a run may have, and why."""

from codemode.policy.policy import Explanation, Policy, Resolution, narrow, read_allow
from codemode.policy.rules import GROUPS, PROFILES

__all__ = ["GROUPS", "PROFILES", "Explanation", "Policy", "Resolution", "narrow", "read_allow"]
