"""Who asks: the token of a request, and the scope that the request names within it."""

from __future__ import annotations

from codemode_snapshots import NO_VALUE

from codemode.contract.scope import Scope
from codemode.engine import Engine
from codemode.serve.http.errors import HttpRefused, no_such_run
from codemode.serve.tokens import Right, Token


class HttpCaller:
    """One request's token."""

    def __init__(self, token: Token) -> None:
        self.token = token

    def require(self, right: Right) -> None:
        if not self.token.may(right):
            raise HttpRefused(403, f"This token has not the right {right!r}.")

    def scope(self, agent: str | None, session: str | None, agent_run: str | None) -> Scope:
        """For a new run: within what the token reaches. Raises HttpRefused."""
        who = Scope(agent or self.token.own_agent, session or self.token.own_session, agent_run or NO_VALUE)
        if not self.token.reaches(who.agent, who.session):
            raise HttpRefused(403, "This token may not speak for that agent or session.")
        return who

    async def owner(
        self,
        engine: Engine,
        run_id: str,
        agent: str | None = None,
        session: str | None = None,
        agent_run: str | None = None,
    ) -> Scope:
        """Whose run it is: as the request says, or as the engine knows. Raises HttpRefused: a run that the
        token does not reach does not exist."""
        if session is not None:
            found = Scope(agent or self.token.own_agent, session, agent_run or NO_VALUE)
        else:
            known = await engine.run_owner(run_id)
            if known is None or (agent or known.agent, agent_run or known.agent_run) != (
                known.agent,
                known.agent_run,
            ):
                raise no_such_run()
            found = known
        if not self.token.reaches(found.agent, found.session):
            raise no_such_run()
        return found

    @property
    def agent_filter(self) -> str | None:
        """The one agent that lists may show; None for all."""
        return None if self.token.agent == "*" or "admin" in self.token.rights else self.token.agent
