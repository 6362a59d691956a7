"""The tools that a run's program can find and call."""

from codemode.catalog.catalog import LARGE_CATALOG, TOOL_SEARCH_CONTROLS, Catalog
from codemode.catalog.names import safe_name

__all__ = ["LARGE_CATALOG", "TOOL_SEARCH_CONTROLS", "Catalog", "safe_name"]
