"""web_fetch and web_search against a real server: what they answer, and where they never go."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from codemode import Engine
from codemode.toolbox import WebLimits, web_tools
from codemode.toolbox.addresses import is_public
from codemode.toolbox.fetching import Fetched, checked_url
from codemode.toolbox.web import PageCache
from codemode.tools import FunctionTool, InvalidArguments, Tool, ToolError
from tests.harness.engine import value_of
from tests.toolbox.pages import PageServer, serving

Fetch = Callable[..., Any]


@pytest.fixture(scope="module")
def server() -> Iterator[PageServer]:
    with serving() as made:
        yield made


@pytest.fixture
def fetch(server: PageServer) -> Fetch:
    return _fetch(WebLimits(private_hosts=("localhost",)))


def _fetch(limits: WebLimits) -> Fetch:
    return _functions(web_tools(limits))["web_fetch"]


def _functions(tools: list[Tool]) -> dict[str, Fetch]:
    return {one.name: one.function for one in tools if isinstance(one, FunctionTool)}


async def test_a_page_is_read_as_markdown_with_its_title_and_whole_links(
    fetch: Fetch, server: PageServer
) -> None:
    page = await fetch(f"{server.url}/")
    assert page == {
        "url": f"{server.url}/",
        "status": 200,
        "contentType": "text/html",
        "title": "Tea & more",
        "text": page["text"],
        "offset": 0,
        "hasMore": False,
        "fromCache": False,
    }
    assert "# Tea" in page["text"]
    assert f"Pour **hot** water, see [how]({server.url}/how?a=1)." in page["text"]
    assert "- green\n- black" in page["text"]
    for gone in ("alert", "base64", "home", "title:"):
        assert gone not in page["text"]


async def test_a_page_can_be_had_as_words_alone_or_as_it_came(fetch: Fetch, server: PageServer) -> None:
    words = (await fetch(f"{server.url}/", format="text"))["text"]
    assert "see how." in words
    assert "http" not in words
    assert "<script>alert(1)</script>" in (await fetch(f"{server.url}/", format="raw"))["text"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/plain", "just words"),
        ("/latin", "café"),
        ("/odd-charset", "words"),
        ("/slow-charset", "words-"),
        ("/strict-charset", "words"),
        ("/json", '{"a": 1}'),
        ("/zipped", "packed words"),
    ],
)
async def test_text_is_decoded_as_its_server_says(
    fetch: Fetch, server: PageServer, path: str, text: str
) -> None:
    assert (await fetch(server.url + path))["text"] == text


@pytest.mark.parametrize(
    ("path", "code", "retryable", "told"),
    [
        ("/missing", "http_404", False, "answered 404: no such page"),
        ("/busy", "http_503", True, "answered 503: come back later"),
        ("/picture", "not_text", None, "is image/png, 9 bytes: only text is fetched."),
        ("/untold", "not_text", None, "is not text, 3 bytes"),
        ("/broken-zip", "not_text", None, "packed wrongly"),
        ("/brotli", "not_text", None, "packed as 'br'"),
    ],
)
async def test_what_cannot_be_read_says_why(
    fetch: Fetch, server: PageServer, path: str, code: str, retryable: bool | None, told: str
) -> None:
    with pytest.raises(ToolError) as caught:
        await fetch(server.url + path)
    assert (caught.value.code, caught.value.retryable) == (code, retryable)
    assert told in str(caught.value)


async def test_a_long_text_comes_in_parts_that_fit_together(server: PageServer) -> None:
    fetch, found, offset = _fetch(WebLimits(text_bytes=65_536, private_hosts=("localhost",))), "", 0
    while True:
        part = await fetch(f"{server.url}/long", offset=offset)
        assert len(part["text"]) <= 65_536
        found += part["text"]
        offset = part["offset"] + len(part["text"])
        if not part["hasMore"]:
            break
    assert found == "0123456789" * 20_000


async def test_a_page_that_unpacks_to_much_more_is_cut(server: PageServer) -> None:
    fetch = _fetch(WebLimits(page_bytes=100_000, text_bytes=1_000, private_hosts=("localhost",)))
    page = await fetch(f"{server.url}/bomb")
    assert (page["text"], page["hasMore"]) == ("a" * 1_000, True)


async def test_a_page_of_a_hundred_thousand_levels_is_refused_and_can_be_had_raw(
    fetch: Fetch, server: PageServer
) -> None:
    with pytest.raises(ToolError, match='Its source: format: "raw"') as caught:
        await fetch(f"{server.url}/nested")
    assert caught.value.code == "not_text"
    assert (await fetch(f"{server.url}/nested", format="raw"))["text"].startswith("<div><div>")


async def test_a_page_is_fetched_once_while_it_is_kept(fetch: Fetch, server: PageServer) -> None:
    server.asked.clear()
    first, second = await fetch(f"{server.url}/plain"), await fetch(f"{server.url}/plain#part")
    assert (first["fromCache"], second["fromCache"], server.asked) == (False, True, ["/plain"])


def test_kept_pages_have_a_bound_in_bytes_and_in_time() -> None:
    now = [0.0]
    cache = PageCache(WebLimits(cache_bytes=10_000, cache_seconds=60), lambda: now[0])
    for number in range(20):
        page = Fetched(f"http://h/{number}", 200, "text/plain", "", b"", False)
        cache.put((page.url, "raw"), page, "", "x" * 1_000)
    assert [number for number in range(20) if cache.get((f"http://h/{number}", "raw"))] == [18, 19]
    now[0] = 61
    assert cache.get(("http://h/19", "raw")) is None


async def test_redirects_are_followed_and_bounded(fetch: Fetch, server: PageServer) -> None:
    server.redirects |= {"/moved": "/plain", "/round": "/round"}
    page = await fetch(f"{server.url}/moved")
    assert (page["url"], page["text"]) == (f"{server.url}/plain", "just words")
    with pytest.raises(ToolError, match="More than 5 redirects"):
        await fetch(f"{server.url}/round")


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.1", "0x7f.1", "2130706433", "0177.0.0.1", "127.0.0.1.", "[::1]",
        "[::ffff:127.0.0.1]", "[0:0:0:0:0:ffff:7f00:1]", "0.0.0.0", "0", "[::]", "10.0.0.1",
        "172.16.0.1", "192.168.0.1", "169.254.169.254",
        "[fe80::1]", "[fc00::1]", "[fec0::1]", "100.64.0.1", "198.18.0.1", "192.0.0.8",
        "224.0.0.1", "240.0.0.1", "255.255.255.255", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::127.0.0.1]",
        "[ff02::1]", "localhost",
    ],
)  # fmt: skip
async def test_addresses_that_are_not_public_are_refused_also_behind_a_redirect(
    server: PageServer, host: str
) -> None:
    port = server.server_address[1]
    server.asked.clear()
    server.redirects["/out"] = f"http://{host}:{port}/plain"
    bare, trusting = _fetch(WebLimits()), _fetch(WebLimits(private_hosts=("ip4.home",)))
    for fetch in (bare, trusting):
        with pytest.raises(ToolError) as caught:
            await fetch(f"http://{host}:{port}/plain")
        assert caught.value.code in ("address_refused", "unknown_host")
    assert server.asked == []
    if host != "localhost":
        with pytest.raises(ToolError) as caught:
            await _fetch(WebLimits(private_hosts=("localhost",)))(f"{server.url}/out")
        assert caught.value.code in ("address_refused", "unknown_host")
        assert server.asked == ["/out"]


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd", "ftp://h/x", "gopher://h/", "javascript:alert(1)", "data:text/plain,x", "/path",
        "http://", "http:///path", "http://user:word@h/", "http://h/a b", "http://h\\@other/", "http://h:99999/",
        "http://[::1/", "http://h/\n", "http://" + "a" * 5_000,
    ],
)  # fmt: skip
async def test_what_is_no_address_of_a_page_is_refused(fetch: Fetch, url: str) -> None:
    with pytest.raises(InvalidArguments):
        await fetch(url + ("x" if url.endswith("\n") else ""))


def test_a_url_is_sent_as_ascii() -> None:
    assert (
        checked_url("HTTPS://bücher.example/straße?q=ä#x")
        == "https://xn--bcher-kva.example/stra%C3%9Fe?q=%C3%A4"
    )
    assert checked_url("http://h") == "http://h/"


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "2002:808:808::", "64:ff9b::808:808"]
)
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", ["", "nonsense", "fe80::1%eth0", "2001:db8::1", "3fff::1", "2001::1"])
def test_what_is_not_certainly_public_is_not(address: str) -> None:
    assert not is_public(address)


async def test_a_name_is_judged_at_each_connection_by_what_it_leads_to_then(
    monkeypatch: pytest.MonkeyPatch, server: PageServer
) -> None:
    """A name that is public when somebody looks and private when it is used."""
    answers = [[(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", server.server_address[1]))]]

    def rebound(*_: object, **__: object) -> Any:
        return answers[0]

    monkeypatch.setattr(socket, "getaddrinfo", rebound)
    server.asked.clear()
    with pytest.raises(ToolError, match=r"rebound\.example is not on the public internet"):
        await _fetch(WebLimits())(f"http://rebound.example:{server.server_address[1]}/plain")
    assert server.asked == []


async def test_a_server_that_never_answers_costs_its_time_and_no_more() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        fetch = _fetch(WebLimits(seconds=0.2, private_hosts=("127.0.0.1",)))
        with pytest.raises(ToolError, match=r"did not answer within 0\.2 s") as caught:
            await fetch(f"http://127.0.0.1:{silent.getsockname()[1]}/")
    assert caught.value.retryable is True


async def test_a_server_that_speaks_no_http_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as odd:

        def answer() -> None:
            other, _ = odd.accept()
            with other:
                other.recv(1000)
                other.sendall(b"SSH-2.0-nothing\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(ToolError) as caught:
            await _fetch(WebLimits(private_hosts=("127.0.0.1",)))(f"http://127.0.0.1:{odd.getsockname()[1]}/")
        thread.join(10)
    assert caught.value.code == "unreachable"


async def test_a_program_searches_with_the_hosts_provider_and_reads_what_it_finds(server: PageServer) -> None:
    async def provider(query: str, count: int) -> list[dict[str, object]]:
        return [{"title": f"about {query}", "url": f"{server.url}/plain", "snippet": "s", "rank": 1}] * (
            count + 5
        )

    tools = web_tools(WebLimits(private_hosts=("localhost",)), provider)
    program = """
    const { hits } = await tools.web_search({ query: "tea", count: 2 });
    return [hits, (await tools.web_fetch({ url: hits[0].url })).text];
    """
    async with Engine(tools) as engine:
        hit = {"title": "about tea", "url": f"{server.url}/plain", "snippet": "s"}
        assert value_of(await engine.exec(program)) == [[hit, hit], "just words"]


async def test_a_refused_address_reaches_the_program_as_an_error_it_can_read() -> None:
    async with Engine(web_tools()) as engine:
        fetched = "await tools.web_fetch({ url: 'http://127.0.0.1/' })"
        program = f"try {{ {fetched} }} catch (e) {{ return [e.code, e.message] }}"
        code, message = value_of(await engine.exec(program))
    assert code == "address_refused"
    assert "127.0.0.1 is not on the public internet, and so is not fetched." in message
