"""The process that page_text.py starts: HTML as its input, the page's URL as its argument, JSON as output.

Imports nothing of codemode, so that it starts quickly.
"""

import json
import sys
from typing import Any

_MEMORY_BYTES = 1 << 30
_PROCESSOR_SECONDS = 10
_MAX_TEXT = 16 * 1024 * 1024


def main(url: str) -> None:
    _bound()
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

    options = ConversionOptions(
        preprocessing=PreprocessingOptions(enabled=True), inline_data_media="alt_text_only", base_url=url
    )
    found: Any = convert(sys.stdin.buffer.read().decode("utf-8", "replace"), options)
    title = str(found.metadata.document.title or "")
    json.dump([title, _without_head(str(found.content or ""))[:_MAX_TEXT]], sys.stdout)


def _without_head(text: str) -> str:
    """The library puts a page's metadata before its text."""
    head, mark, body = text.partition("\n---\n")
    return body.lstrip("\n") if mark and head.startswith("---\n") else text


def _bound() -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    for limit, most in (
        (resource.RLIMIT_AS, _MEMORY_BYTES),
        (resource.RLIMIT_CPU, _PROCESSOR_SECONDS),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        resource.setrlimit(limit, (most, most))


if __name__ == "__main__":
    main(sys.argv[1])
