"""Code mode in agent frameworks: each module serves one of them and imports that one only.

They share `calling`: the tools of one prepared run, called by name with the JSON that a model sent. The other
way, from a framework's tools to ours, is codemode/tools/adapters.py.
"""

from codemode.adapters.calling import ModelAnswer, ModelTools, prepare_tools, prepare_tools_blocking

__all__ = ["ModelAnswer", "ModelTools", "prepare_tools", "prepare_tools_blocking"]
