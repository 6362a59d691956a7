"""Tells hooks of the host when somebody is asked for an approval, and when nobody is any more.

For notifications: a line in a chat, a webhook, a page. A hook is told in a task of its own, so that no run
waits for it; it decides nothing here, and its failures are logged.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterable
from typing import Any, cast

from codemode.contract.events import ApprovalClosed
from codemode.executor import ApprovalRequest

_log = logging.getLogger("codemode.approvals")
_MAX_UNDER_WAY = 256


class ApprovalBell:
    """One per engine. A hook has `approval_opened(asked)` or `approval_closed(event)`, sync or async."""

    def __init__(self, hooks: Any = None) -> None:
        several = cast("Iterable[Any]", hooks) if isinstance(hooks, list | tuple) else (hooks,)
        found = [hook for hook in several if hook is not None]
        self._opened = [hook.approval_opened for hook in found if hasattr(hook, "approval_opened")]
        self._closed = [hook.approval_closed for hook in found if hasattr(hook, "approval_closed")]
        self._under_way: set[asyncio.Task[None]] = set()

    @property
    def rings(self) -> bool:
        return bool(self._opened or self._closed)

    def opened(self, asked: ApprovalRequest) -> None:
        for hook in self._opened:
            self._tell(hook, asked)

    def closed(self, event: ApprovalClosed) -> None:
        for hook in self._closed:
            self._tell(hook, event)

    def _tell(self, hook: Callable[[Any], Any], news: ApprovalRequest | ApprovalClosed) -> None:
        if len(self._under_way) >= _MAX_UNDER_WAY:
            _log.error(
                "a hook was not told of an approval: %d others have not been heard yet", _MAX_UNDER_WAY
            )
            return
        task = asyncio.get_running_loop().create_task(_told(hook, news), name="codemode approval hook")
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def close(self) -> None:
        """What was begun has a moment to end: a webhook that is half sent tells nobody."""
        if self._under_way:
            _, late = await asyncio.wait(set(self._under_way), timeout=2)
            for task in late:
                task.cancel()


async def _told(hook: Callable[[Any], Any], news: ApprovalRequest | ApprovalClosed) -> None:
    try:
        answer = hook(news)
        if inspect.isawaitable(answer):
            await answer
    except Exception:
        _log.exception("a hook that hears of approvals failed")


SILENT = ApprovalBell()
