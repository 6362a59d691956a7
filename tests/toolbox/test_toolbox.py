"""A whole toolbox: which tools a profile has, what sessions tell, pictures, and how it is closed."""

from __future__ import annotations

from pathlib import Path

import pytest

from codemode import Completed, ConfigError, Engine, Scope
from codemode.toolbox import CommandRules, Toolbox, Workspace
from tests.harness.engine import value_of

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
CODING = {
    "apply_patch", "edit", "exec", "image", "memory_get", "memory_search", "process", "read",
    "session_status", "sessions_history", "sessions_list", "write",
}  # fmt: skip


async def test_each_profile_has_its_tools(tmp_path: Path) -> None:
    async def search(query: str, count: int) -> list[dict[str, str]]:
        return []

    for profile, wanted in {
        "minimal": {"session_status"},
        "coding": CODING,
        "web": {"session_status", "web_fetch", "web_search"},
        "full": CODING | {"web_fetch", "web_search"},
    }.items():
        async with Toolbox(profile, workspace=tmp_path, search=search) as box:  # pyright: ignore[reportArgumentType]
            assert {one.name for one in box.tools} == wanted
            assert all(one.returns is not None for one in box.tools), "each declares its result"


def test_a_toolbox_that_cannot_work_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="must be one of minimal, coding, web, full"):
        Toolbox("codign", workspace=tmp_path)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match='the toolbox "coding" needs the folder'):
        Toolbox("coding")
    with pytest.raises(ConfigError, match="cannot be opened as a folder"):
        Toolbox("coding", workspace=tmp_path / "missing")


async def test_sessions_of_an_agent_are_told_and_those_of_another_are_not(tmp_path: Path) -> None:
    async with Toolbox("coding", workspace=tmp_path) as box, Engine(box.tools) as engine:
        box.bind(engine)
        for session in ("first", "second"):
            await engine.exec("await tools.read({ path: '.' }); return 1", session=session)
        await engine.exec("return 1", scope=Scope(agent="other", session="hidden"))
        told = value_of(
            await engine.exec(
                """const [list, history, status] = await Promise.all([
                     tools.sessions_list({}), tools.sessions_history({ session: "first" }),
                     tools.session_status({})]);
                   return { list, history, status };""",
                session="second",
            )
        )
        hidden = await engine.exec("return await tools.sessions_history({ session: 'hidden' })")
    assert sorted(one["session"] for one in told["list"]["sessions"]) == ["first", "second"]
    assert [(one["status"], one["calls"]) for one in told["history"]["runs"]] == [("completed", ["read: ok"])]
    assert (told["status"]["agent"], told["status"]["session"], told["status"]["runs"]) == (
        "main",
        "second",
        2,
    )
    assert not isinstance(hidden, Completed)


async def test_the_status_of_a_session_names_the_variables_that_stay(tmp_path: Path) -> None:
    config = {"enabled": True, "sessionState": "keep"}
    async with Toolbox("minimal") as box, Engine(box.tools, config) as engine:
        box.bind(engine)
        status = "return (await tools.session_status({})).variables"
        assert value_of(await engine.exec(f"const rate = 3; {status}"))["names"] == {}
        variables = value_of(await engine.exec(status))
    assert (variables["names"], variables["programs"]) == ({"rate": "number"}, 1)


async def test_a_toolbox_without_an_engine_says_what_to_call() -> None:
    async with Toolbox("minimal") as box, Engine(box.tools) as engine:
        result = await engine.exec("return await tools.session_status({}).catch((e) => e.message)")
    assert "call toolbox.bind(engine)" in value_of(result)


async def test_a_picture_of_the_workspace_is_shown_by_what_it_is_not_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "chart.txt").write_bytes(PNG)
    (tmp_path / "fake.png").write_text("<svg/>")
    async with Toolbox("coding", workspace=tmp_path) as box, Engine(box.tools) as engine:
        program = """
        const chart = await tools.image({ path: "chart.txt" });
        image(chart);
        return [chart.mimeType, chart.bytes, await tools.image({ path: "fake.png" }).catch((e) => e.code)];
        """
        result = await engine.exec(program)
        assert value_of(result) == ["image/png", len(PNG), "not_an_image"]
        assert isinstance(result, Completed)
        assert [item.type for item in result.output] == ["image"]


async def test_closing_ends_commands_and_leaves_a_workspace_that_was_given_open(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    rules = CommandRules(security="full", ask="off")
    async with Toolbox("coding", workspace=workspace, commands=rules) as box, Engine(box.tools) as engine:
        result = await engine.exec(
            "return await tools.exec({ command: 'sleep 600', background: true })", session="s"
        )
        assert value_of(result)["status"] == "running"
    assert workspace.exists(".") is True
    workspace.close()
