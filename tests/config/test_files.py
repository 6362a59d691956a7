"""Configuration files: JSON as people write it, TOML, and one way to refuse everything else."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from codemode.config import ConfigError, read_config, read_document
from codemode.config.relaxed_json import JsonRefused, parse_json

RELAXED = """\
// a host's own file
{
  tools: {
    'codeMode': {
      enabled: true,
      "timeoutMs": 2_000, /* no: a number has no separators */
    },
  },
}
"""


@pytest.mark.parametrize("suffix", [".json", ".json5", ".jsonc", ".JSON"])
def test_a_json_file_with_comments_and_trailing_commas_is_read(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"host{suffix}"
    file.write_text(RELAXED.replace("2_000", "+2e3"), encoding="utf-8-sig")
    config = read_config(file)
    assert (config.enabled, config.timeout_ms) == (True, 2000)


def test_a_toml_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "host.toml"
    file.write_text('[tools.codeMode]\nenabled = true\nlanguages = ["javascript"]\n')
    config = read_config(str(file), overlay={"timeoutMs": 200})
    assert (config.enabled, config.languages, config.timeout_ms) == (True, ("javascript",), 200)


def test_a_file_may_hold_the_section_alone_and_other_sections_stay_readable(tmp_path: Path) -> None:
    file = tmp_path / "code-mode.json"
    file.write_text('{"enabled": true}')
    assert read_config(file).enabled is True
    file.write_text('{"mcpServers": {"a": {}}}')
    assert read_document(file) == {"mcpServers": {"a": {}}}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", RELAXED.encode(), "expected a value at 6:20"),
        ("a.json", b"", "a value is missing at 1:1"),
        ("a.json", b'{"enabled": true', "the closing } is missing at 1:17"),
        ("a.json", b"\xff\xfe", "is not UTF-8 at byte 0"),
        ("a.json", b'{"enabled": tru}', "expected a value at 1:13"),
        ("a.json", b'{"enabld": true}', 'Did you mean "enabled"?'),
        ("a.json", b'{"timeoutMs": Infinity}', "not inf"),
        ("a.toml", b"enabled = yes", "is not TOML"),
        ("a.toml", b"timeoutMs = 1" + b"0" * 5000, "is not TOML"),
        ("a.toml", b"timeoutMs = 2020-01-01", "not a date"),
        ("a.yaml", b"enabled: true", "ends in one of .json, .json5, .jsonc, .toml"),
        ("a.json", b" " * ((4 << 20) + 1), "is larger than 4194304 bytes"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused_by_name(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(ConfigError) as refused:
        read_config(file)
    assert refused.value.code == "invalid_config"
    assert said in str(refused.value)


def test_a_missing_file_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file or directory"):
        read_config(tmp_path / "absent.json")
    folder = tmp_path / "folder.json"
    folder.mkdir()
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read_config(folder)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-0x1F", -31),
        (".5", 0.5),
        ("5.", 5.0),
        ("1.e2", 100.0),
        ("-Infinity", -math.inf),
        ("null // end", None),
        ("/* a */ [1, /* b */ 2,] \n", [1, 2]),
        ("{a: 1, $b: 2, 'c d': 3, é_1: 4}", {"a": 1, "$b": 2, "c d": 3, "é_1": 4}),
        (r'"\u0041\x42\n\0\q\'"', "AB\n\0q'"),
        ('"one \\\ntwo"', "one two"),
        (r'"\ud83d\ude00 \ud83d"', "\U0001f600 \ufffd"),
        ("'it says \"x\"'", 'it says "x"'),
        ("{__proto__: 1}", {"__proto__": 1}),
    ],
)
def test_relaxed_json_is_read_as_it_is_meant(text: str, value: Any) -> None:
    found = parse_json(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[1 2]", "[1,,2]", "{,}", "{a}", "{a:}", "{1:2}", "01", "+", "- 1", ".", "e5", "1.2.3"),
        *(
            '"a',
            "'a\n'",
            r'"\u12"',
            r'"\1"',
            "tru",
            "nullx",
            "/* open",
            "1 2",
            "{a:1,a:2}",
            "NaNa",
            "0x",
            "1_0",
        ),
        "9" * 401,
        "[" * 65 + "]" * 65,
        "[" * 100_000,
        '"' + "\\" * 99_999,
    ],
)
def test_text_that_is_no_relaxed_json_is_refused(text: str) -> None:
    with pytest.raises(JsonRefused):
        parse_json(text)


def test_a_refusal_gives_the_position() -> None:
    with pytest.raises(JsonRefused) as refused:
        parse_json('{\n  "a": 1,\n  "a": 2\n}')
    assert (refused.value.line, refused.value.column) == (3, 3)
    assert str(refused.value) == "the key 'a' is there twice at 3:3."
