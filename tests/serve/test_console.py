"""The console in a real Chromium, on a real server. No page may log an error or ask another host."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.harness.browser import Site, browser, give, page_at, site
from tests.harness.npm import installed_or_skip

TOKEN = "t" * 40
PAGES = (
    ("runs", "a.run-row"),
    ("runs/{}", ".timeline .call"),
    ("inbox", ".approval"),
    ("tools", "pre.description"),
    ("engine", ".tiles"),
)
HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'


@pytest.fixture(scope="module")
def chrome() -> Generator[Browser]:
    with browser() as made:
        yield made


@pytest.fixture(scope="module")
def shop() -> Generator[Site]:
    with site("--no-tokens") as made:
        yield made


def test_a_run_appears_live_and_its_timeline_grows_until_it_ends(
    chrome: Browser, shop: Site, tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    program = (
        f"const a = await tools.hold({{ path: '{first}' }});\n"
        f"const b = await tools.hold({{ path: '{second}' }});\n"
        "return a + b"
    )
    with page_at(chrome, shop) as page:
        expect(page.get_by_role("heading", level=1)).to_have_text("Runs")
        running = shop.begin(program, session="live")
        page.locator("a.run-row", has_text="live").click()
        calls = page.locator(".timeline .call")
        expect(calls).to_have_count(1)
        expect(page.locator(".run-title .status")).to_have_text("running")
        give(first, "one ")
        expect(calls).to_have_count(2)
        expect(calls.first).to_have_attribute("data-kind", "ok")
        give(second, "two")
        expect(page.locator(".run-title .status")).to_have_text("completed")
        expect(page.get_by_role("region", name="Value")).to_contain_text("one two")
        assert running.result()["value"] == "one two"


def test_the_program_shows_where_each_call_is_and_a_call_leads_to_its_line(
    chrome: Browser, shop: Site
) -> None:
    ran = shop.exec("// a note\nconst a = 1;\nreturn tools.pay({ to: 'Ada', cents: a })", session="places")
    with page_at(chrome, shop, f"#/runs/{ran['runId']}") as page:
        mark = page.locator(".line[data-line='3'] .mark-at")
        expect(mark).to_have_text("1")
        page.locator(".timeline .call").click()
        expect(page.locator(".line.chosen")).to_have_attribute("data-line", "3")
        expect(page.locator(".call-detail")).to_contain_text("object with cents, to; values are not recorded")


def test_what_a_suspended_program_wrote_is_shown_where_it_is_known(chrome: Browser, shop: Site) -> None:
    program = "text('first words'); await yield_control(); text('last words')"
    unseen = shop.exec(program, session="unseen")
    with page_at(chrome, shop) as page:
        expect(page.locator(".light")).to_have_attribute("data-state", "live")
        seen = shop.exec(program, session="seen")
        expect(page.locator("a.run-row", has_text="seen").first).to_be_visible()
        page.goto(f"{shop.url}#/runs/{seen['runId']}")
        expect(page.locator(".out-text")).to_have_text("first words")
        page.goto(f"{shop.url}#/runs/{unseen['runId']}")
        expect(page.get_by_role("region", name="Output")).to_contain_text("1 item of earlier legs")


def test_an_approval_in_the_inbox_by_one_key_lets_the_program_go_on(chrome: Browser, shop: Site) -> None:
    with page_at(chrome, shop, "#/inbox") as page:
        paying = shop.begin(
            "return await tools.pay({ to: 'Grace', cents: 7 })", session="till", toEnd=True, timeoutMs=60_000
        )
        card = page.locator(".approval", has_text="Grace")
        expect(card.locator(".arguments")).to_contain_text("7")
        expect(page.locator(".nav .badge")).to_be_visible()
        asked = paying.result()  # toEnd stops at what nobody has decided
        card.focus()
        page.keyboard.press("a")
        expect(card).to_have_count(0)
        assert shop.post(f"v1/runs/{asked['runId']}/wait", session="till")["value"] == "paid 7 to Grace"


def test_a_denial_takes_its_reason_to_the_program(chrome: Browser, shop: Site) -> None:
    asked = shop.exec("return tools.pay({ to: 'Linus', cents: 1 }).catch((e) => e.message)", session="no")
    with page_at(chrome, shop, "#/inbox") as page:
        card = page.locator(".approval", has_text="Linus")
        card.focus()
        page.keyboard.press("d")
        page.keyboard.type("not today")
        page.keyboard.press("Enter")
        expect(card).to_have_count(0)
    assert "not today" in shop.post(f"v1/runs/{asked['runId']}/wait", session="no")["value"]


def test_go_on_and_abort_are_buttons_of_a_run(chrome: Browser, shop: Site) -> None:
    one = shop.exec("await yield_control(); return 5", session="buttons")
    two = shop.exec("await yield_control(); return 6", session="buttons")
    with page_at(chrome, shop, f"#/runs/{one['runId']}") as page:
        page.get_by_role("button", name="Go on").click()
        expect(page.locator(".run-title .status")).to_have_text("completed")
        page.goto(f"{shop.url}#/runs/{two['runId']}")
        page.get_by_role("button", name="Abort").click()
        page.get_by_role("dialog").get_by_role("button", name="Abort it").click()
        expect(page.locator(".run-title .status")).to_have_text("aborted")


def test_the_past_of_a_run_can_be_gone_on_from_with_other_answers(chrome: Browser, shop: Site) -> None:
    ran = shop.exec("const a = await tools.pay({ to: 'x', cents: 1 }); return a + '!'", session="past")
    with page_at(chrome, shop, f"#/runs/{ran['runId']}") as page:
        page.get_by_role("button", name="Fork").click()
        page.get_by_label("Other answers").fill('{ "1": "not paid" }')
        page.get_by_role("dialog").get_by_role("button", name="Fork").click()
        page.wait_for_url(lambda url: ran["runId"] not in url)
        page.get_by_role("button", name="Go on").click()
        expect(page.get_by_role("region", name="Value")).to_contain_text("not paid!")
        expect(page.get_by_role("region", name="History")).to_contain_text("answered: 1 pay")


def test_hostile_names_outputs_arguments_and_errors_stay_text(chrome: Browser, shop: Site) -> None:
    wrote, asked, failed = (f"<b onclick=1>{number}</b>" for number in range(3))
    shop.exec(f"const s = {HOSTILE!r}; text(s); json({{ [s]: s }})", session=wrote)
    shop.exec(f"await tools.pay({{ to: {HOSTILE!r} + '\\u202egnp', cents: 1 }})", session=asked)
    shop.exec(f"throw new Error({HOSTILE!r})", session=failed)
    with page_at(chrome, shop) as page:
        expect(page.locator(".cell-session", has_text=wrote)).to_be_visible()
        page.goto(f"{shop.url}#/inbox")
        card = page.locator(".approval", has_text=asked)
        expect(card.locator(".argument-text")).to_have_text(f"{HOSTILE}⟦U+202E⟧gnp")
        page.goto(f"{shop.url}#/runs/{shop.run_of(wrote)}")
        expect(page.locator(".out-text")).to_have_text(HOSTILE)
        expect(page.locator(".out-json")).to_contain_text(HOSTILE)
        page.goto(f"{shop.url}#/runs/{shop.run_of(failed)}")
        expect(page.locator(".error-panel pre")).to_contain_text(HOSTILE)
        page.goto(f"{shop.url}#/tools")
        expect(page.locator(".tool-text", has_text="Sends money to <b>somebody</b>.")).to_be_visible()
        assert page.locator("img, main script, main b[onclick]").count() == 0
        assert page.evaluate("window.hacked") is None


def test_pictures_of_a_program_are_pictures(chrome: Browser, shop: Site) -> None:
    shop.exec("image(await tools.picture())", session="gallery")
    with page_at(chrome, shop, f"#/runs/{shop.run_of('gallery')}") as page:
        picture = page.locator(".out-image img")
        expect(picture).to_be_visible()
        assert picture.evaluate("one => [one.naturalWidth, one.naturalHeight]") == [1, 1]


def test_a_failed_run_shows_its_error_its_hint_and_its_line(chrome: Browser, shop: Site) -> None:
    ran = shop.exec("const found = { list: [] };\nreturn found.map((x) => x)", session="broken")
    with page_at(chrome, shop, f"#/runs/{shop.run_of('broken')}") as page:
        expect(page.locator(".error-panel")).to_contain_text("`map` is not one of them")
        expect(page.locator(".run-title .code-word")).to_have_text(ran["code"])


def test_everything_can_be_reached_by_keyboard_alone(chrome: Browser, shop: Site) -> None:
    shop.exec("return 1", session="keyboard")
    with page_at(chrome, shop) as page:
        expect(page.locator("a.run-row").first).to_be_visible()
        page.keyboard.press("/")
        expect(page.get_by_role("searchbox", name="Search runs")).to_be_focused()
        page.keyboard.type("keyboard")
        expect(page.locator("a.run-row")).to_have_count(1)
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        expect(page.locator("a.run-row").first).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator(".facts")).to_contain_text("keyboard")
        page.keyboard.press("u")
        for key, title in (("t", "Tools"), ("e", "Engine"), ("i", "Inbox"), ("r", "Runs")):
            page.keyboard.press("g")
            page.keyboard.press(key)
            expect(page.get_by_role("heading", level=1)).to_have_text(title)
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page_in_either_colour(chrome: Browser, shop: Site, scheme: str) -> None:
    axe = (installed_or_skip("axe-core@4.14.0") / "axe-core" / "axe.min.js").read_text()
    ran = shop.exec("return tools.pay({ to: 'x', cents: 1 })", session=f"axe-{scheme}")
    found: list[tuple[str, str, str]] = []
    # the page's own policy would not let the checker in
    with page_at(chrome, shop, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce") as page:
        page.add_script_tag(content=axe)
        for path, seen in PAGES:
            page.goto(f"{shop.url}#/{path.format(ran['runId'])}")
            expect(page.locator(seen).first).to_be_visible()
            expect(page.get_by_role("heading", level=1)).to_have_count(1)
            for problem in page.evaluate("axe.run().then((result) => result.violations)"):
                found += [(path, problem["id"], node["html"]) for node in problem["nodes"]]
    assert found == []


def test_with_reduced_motion_nothing_moves(chrome: Browser, shop: Site, tmp_path: Path) -> None:
    running = shop.begin(f"return tools.hold({{ path: '{tmp_path / 'go'}' }})", session="still")
    moving = "() => getComputedStyle(document.querySelector('[data-kind=running] .dot')).animationName"
    with page_at(chrome, shop) as page:
        expect(page.locator("a.run-row", has_text="still")).to_be_visible()
        assert page.evaluate(moving) == "pulse"
    with page_at(chrome, shop, reduced_motion="reduce") as page:
        expect(page.locator("a.run-row", has_text="still")).to_be_visible()
        assert page.evaluate(moving) == "none"
    give(tmp_path / "go", "on")
    running.result()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colours_follow_the_system_until_somebody_chooses(
    chrome: Browser, shop: Site, scheme: str
) -> None:
    paper = {"light": "rgb(246, 245, 241)", "dark": "rgb(16, 17, 20)"}
    with page_at(chrome, shop, color_scheme=scheme) as page:
        expect(page.locator("html")).to_have_css("background-color", paper[scheme])
        page.get_by_role("button", name="Theme: auto").click()
        expect(page.locator("html")).to_have_css("background-color", paper["light"])
        page.get_by_role("button", name="Theme: light").click()
        expect(page.locator("html")).to_have_css("background-color", paper["dark"])


def test_of_many_runs_only_those_in_sight_are_in_the_page_and_all_can_be_reached(chrome: Browser) -> None:
    with site("--no-tokens") as busy:
        for number in range(130):
            busy.exec("return 1", session=f"s{number}")
        with page_at(chrome, busy) as page:
            expect(page.locator(".summary")).to_contain_text("130 runs")
            rows = page.locator("a.run-row")
            expect(rows.first).to_contain_text("s129")
            last = page.locator("a.run-row[data-at='129']")
            for _ in range(20):
                page.evaluate("scrollTo(0, document.body.scrollHeight)")
                if last.count():
                    break
                page.evaluate("() => new Promise(requestAnimationFrame)")
            expect(last).to_contain_text("s0")
            assert rows.count() < 60


def test_the_catalog_is_searched_as_a_model_does_and_the_description_is_the_exact_one(
    chrome: Browser, shop: Site
) -> None:
    told = shop.get("v1/prompt")
    with page_at(chrome, shop, "#/tools") as page:
        expect(page.locator("pre.description").first).to_have_text(told["description"], use_inner_text=False)
        expect(page.get_by_role("region", name="What the model sees")).to_contain_text(
            f"{told['tokens']:,} tokens"
        )
        page.get_by_role("searchbox").fill("send money")
        expect(page.locator(".tool").first).to_contain_text("pay")
        page.locator(".tool").first.click()
        expect(page.locator(".tool-detail")).to_contain_text("cents")


def test_the_engine_page_tells_of_workers_confinement_and_limits(chrome: Browser, shop: Site) -> None:
    with page_at(chrome, shop, "#/engine") as page:
        for name in ("Confinement", "MCP servers", "Process"):
            expect(page.get_by_role("region", name=name)).to_be_visible()
        page.locator("summary", has_text="Limits").click()
        expect(page.locator("details", has_text="Limits")).to_contain_text("timeout ms")


def test_a_server_with_tokens_asks_for_one_and_keeps_it_for_the_tab(chrome: Browser) -> None:
    with site(token=TOKEN, CODEMODE_HTTP_TOKEN=TOKEN) as locked:
        locked.exec("return 1", session="secret")
        with page_at(chrome, locked) as page:
            field = page.get_by_label("Token")
            field.fill("w" * 40)
            page.keyboard.press("Enter")
            expect(page.get_by_role("alert")).to_have_text("That is not a token of this server.")
            page.get_by_label("Token").fill(TOKEN)
            page.keyboard.press("Enter")
            expect(page.locator("a.run-row", has_text="secret")).to_be_visible()
            page.reload()
            expect(page.locator("a.run-row", has_text="secret")).to_be_visible()
            assert page.evaluate("localStorage.getItem('codemode.token')") is None


def test_a_server_that_was_gone_is_found_again_and_what_happened_meanwhile_is_shown(chrome: Browser) -> None:
    with ExitStack() as first:
        before = first.enter_context(site("--no-tokens"))
        with page_at(chrome, before) as page:
            light = page.locator(".light")
            expect(light).to_have_attribute("data-state", "live")
            first.close()
            expect(light).to_have_attribute("data-state", "lost")
            with site("--no-tokens", port=before.port) as after:
                after.exec("return 1", session="meanwhile")
                expect(page.locator("a.run-row", has_text="meanwhile")).to_be_visible()
                expect(light).to_have_attribute("data-state", "live")
