"""What engines learn of an agent's tools, kept beside its runs: small sealed facts under a name. Bounded.

Nothing depends on them: a fact may be lost, and the one that was written last counts. A store has them as its
attribute `facts`; one without it keeps none.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Protocol

MAX_FACT_BYTES = 32 << 10  # of one; a larger one is not kept
MAX_FACTS = 2_000  # of one agent; those written longest ago go first
MAX_FACTS_IN_ALL = 20_000


class Facts(Protocol):
    """Safe in any thread. Each may raise StoreUnavailable."""

    def put(self, agent: str, facts: Mapping[str, bytes]) -> None: ...

    def get(self, agent: str) -> dict[str, bytes]: ...


def fitting(facts: Mapping[str, bytes]) -> list[tuple[str, bytes]]:
    """Those that are small enough, at most as many as an agent may have."""
    return [(name, data) for name, data in facts.items() if len(data) <= MAX_FACT_BYTES][-MAX_FACTS:]


class MemoryFacts:
    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], bytes] = OrderedDict()  # written longest ago first

    def put(self, agent: str, facts: Mapping[str, bytes]) -> None:
        with self._turn:
            for name, data in fitting(facts):
                self._kept[agent, name] = data
                self._kept.move_to_end((agent, name))
            own = [key for key in self._kept if key[0] == agent]
            for key in own[:-MAX_FACTS]:
                del self._kept[key]
            while len(self._kept) > MAX_FACTS_IN_ALL:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        with self._turn:
            self._kept.clear()

    def get(self, agent: str) -> dict[str, bytes]:
        with self._turn:
            return {name: data for (whose, name), data in self._kept.items() if whose == agent}
