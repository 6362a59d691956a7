"""`codemode completion`: a script by which a shell completes commands and options."""

from __future__ import annotations

import argparse

from codemode.cli.errors import ExitCode

DESCRIPTION = """\
Prints a script that completes the commands and options of codemode in a shell. It knows those
of this version, and asks nothing when it completes."""
EXAMPLES = """\
  codemode completion bash > ~/.local/share/bash-completion/completions/codemode
  codemode completion zsh > ~/.zfunc/_codemode        # with ~/.zfunc in fpath
  codemode completion fish > ~/.config/fish/completions/codemode.fish
"""

_BASH = """\
_codemode() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" command="${{COMP_WORDS[1]}}" words=""
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{commands} --help --version"
    else
        case "$command" in
{cases}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    if [ "$COMP_CWORD" -gt 1 ]; then
        case "$word" in -*) ;; *) COMPREPLY+=($(compgen -f -- "$word")) ;; esac
    fi
}}
complete -o filenames -F _codemode codemode
"""
# zsh reads what bash completes by.
_ZSH = """\
#compdef codemode
autoload -U +X bashcompinit && bashcompinit
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(options: argparse.Namespace) -> int:
    words = _words()
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell](words), end="")
    return ExitCode.DONE


def _words() -> dict[str, list[str]]:
    """For each command what may follow it: choices of its first argument, and its options."""
    from codemode.cli import COMMANDS, parser_of

    found: dict[str, list[str]] = {}
    for name in COMMANDS:
        parser = parser_of(name)
        actions = [action for action in parser._actions if action.help != argparse.SUPPRESS]  # pyright: ignore[reportPrivateUsage] - argparse tells nobody
        named = [action for action in actions if not action.option_strings]
        choices = [str(one) for action in named for one in action.choices or ()]
        options = [word for action in actions for word in action.option_strings if word.startswith("--")]
        found[name] = choices + options
    return found


def _bash(words: dict[str, list[str]]) -> str:
    cases = "\n".join(f'            {name}) words="{" ".join(own)}" ;;' for name, own in words.items())
    return _BASH.format(commands=" ".join(words), cases=cases)


def _zsh(words: dict[str, list[str]]) -> str:
    return _ZSH + _bash(words)


def _fish(words: dict[str, list[str]]) -> str:
    from codemode.cli import COMMANDS

    first = "complete -c codemode -n __fish_use_subcommand -f -a"
    lines = [f"{first} {name} -d {_quoted(COMMANDS[name])}" for name in words]
    for name, own in words.items():
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        lines += [f"complete -c codemode {seen} -l {word[2:]}" for word in own if word.startswith("--")]
        choices = [word for word in own if not word.startswith("--")]
        lines += [f"complete -c codemode {seen} -a '{' '.join(choices)}'"] if choices else []
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
