"""Search indexes, built at the first search and shared by catalogs of the very same tools.

The key is the identity of every tool, and tools are frozen: an index cannot be out of date, and tells nothing
that a catalog of those tools would not tell by itself.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from codemode.catalog.search import SearchIndex
from codemode.tools import Tool

_MAX_KEPT = 8

_lock = threading.Lock()
# The key holds the tools, so no address in it can be used again by another tool.
_kept: OrderedDict[tuple[Tool, ...], SearchIndex] = OrderedDict()


def index_of(tools: Sequence[Tool]) -> SearchIndex:
    """May be called from any thread. Building takes about half a second for ten thousand tools."""
    key = tuple(tools)
    with _lock:
        found = _kept.get(key)
        if found is not None:
            _kept.move_to_end(key)
            return found
    built = SearchIndex(key)
    with _lock:
        _kept[key] = built
        while len(_kept) > _MAX_KEPT:
            _kept.popitem(last=False)
    return built
