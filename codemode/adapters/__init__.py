"""Code mode in the frameworks people have: each module is one of them and imports that one only.

`calling` is what they share: the tools of one prepared run, called by name with the JSON a model sent. The
other way round, a framework's tools as ours, is codemode/tools/adapters.py.
"""

from codemode.adapters.calling import ModelAnswer, ModelTools, prepare_tools

__all__ = ["ModelAnswer", "ModelTools", "prepare_tools"]
