"""``claimcheck completion``: a script for a shell, and what the last word of a command line can become.

Each script asks ``claimcheck __complete WORD…`` what that is. The words on the line go there as they were typed, and what
comes back is only compared and inserted: neither is evaluated.

The answers are those of ``__complete`` in programs that are made with Go's cobra, because kubectl reads them for its plugins:
each candidate, with a tab and a description if there is one, then a colon and a number.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from commandline.errors import SUCCESS
from commandline.subcommands import SUBCOMMANDS, parser_of

if TYPE_CHECKING:
    from argparse import Action, ArgumentParser, Namespace

    from commandline.parser import Parser


_BASH = r"""# bash completion for claimcheck
__claimcheck_complete() {
    local cur=${COMP_WORDS[COMP_CWORD]} typed= line directive=0 at
    local -a words=()
    COMPREPLY=()
    # Bash splits words at "=": put them together again.
    for ((at = 1; at <= COMP_CWORD; at++)); do
        line=${COMP_WORDS[at]}
        if [[ ${#words[@]} -gt 0 && ( $line == "=" || $typed == *= ) && $COMP_WORDBREAKS == *"="* ]]; then
            typed+=$line
            words[${#words[@]}-1]=$typed
        else
            typed=$line
            words+=("$line")
        fi
    done
    [[ $cur == "=" ]] && cur=
    local prefix=${typed%"$cur"}
    while IFS= read -r line; do
        if [[ $line == :* ]]; then
            directive=${line#:}
        elif [[ -n $line ]]; then
            line=${line%%$'\t'*}
            COMPREPLY+=("${line#"$prefix"}")
        fi
    done < <(claimcheck __complete "${words[@]}" 2>/dev/null)
    if type compopt &>/dev/null; then
        case $directive in 2 | 6) compopt -o nospace 2>/dev/null ;; esac
        case $directive in 4 | 6) compopt +o default 2>/dev/null ;; esac
    fi
}
complete -o default -F __claimcheck_complete claimcheck
"""

_ZSH = r"""#compdef claimcheck
_claimcheck() {
    local line directive=0
    local -a values shown options
    for line in "${(@f)$(claimcheck __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        if [[ $line == :* ]]; then
            directive=${line#:}
        elif [[ -n $line ]]; then
            values+=("${line%%$'\t'*}")
            shown+=("${line/$'\t'/  -- }")
        fi
    done
    if (( ${#values} )); then
        if (( directive & 2 )); then options=(-S ''); fi
        compadd -l "${options[@]}" -d shown -a -- values
    elif (( ! (directive & 4) )); then
        compset -P '-*='
        _files
    fi
}
if [[ $funcstack[1] == _claimcheck ]]; then
    _claimcheck "$@"
else
    compdef _claimcheck claimcheck
fi
"""

_FISH = r"""# fish completion for claimcheck
function __claimcheck_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l directive 0
    set -l found 0
    for line in (claimcheck __complete $words[2..-1] 2>/dev/null)
        switch $line
            case ':*'
                set directive (string sub -s 2 -- $line)
            case '?*'
                set found 1
                printf '%s\n' $line
        end
    end
    if test $found -eq 0 -a $directive -eq 0
        set -l option (string match -r -- '^--[^=]*=' (commandline -ct))
        for path in (__fish_complete_path (string replace -r -- '^--[^=]*=' '' (commandline -ct)))
            printf '%s%s\n' "$option" $path
        end
    end
end
complete -c claimcheck -f -a '(__claimcheck_complete)'
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


DESCRIPTION = "Print a script with which a shell completes commands, options and values."
EXAMPLES = """examples:
  source <(claimcheck completion bash)                                    for this shell; or in ~/.bashrc
  source <(claimcheck completion zsh)                                     in ~/.zshrc, after compinit
  claimcheck completion fish > ~/.config/fish/completions/claimcheck.fish

The script asks the installed claimcheck, so it need not be made again for a new version. kubectl completes
`kubectl claimcheck` by itself, if kubectl_complete-claimcheck is on the PATH.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    parser.add_argument("shell", choices=tuple(SCRIPTS), help="the shell that reads the script")


def run(options: Namespace) -> int:
    """Print the script."""
    sys.stdout.write(SCRIPTS[options.shell])
    return SUCCESS


FILES, NO_SPACE, NO_FILES = 0, 2, 4
"""The number at the end: complete files, or put no space behind the candidate, or complete no files; the last two can be added."""

_LONGEST = 80

Candidate = tuple[str, str]
"""A word, and what it means."""


class Candidates:
    """What a word can become.

    :param directive: what the shell does besides.
    """

    def __init__(self, found: Iterable[Candidate] = (), directive: int = NO_FILES) -> None:
        self.found = list(found)
        self.directive = directive

    def lines(self, prefix: str) -> Iterator[str]:
        """The lines for a shell.

        :param prefix: what has been typed of the word.
        """
        for word, meaning in self.found:
            if word.startswith(prefix):
                yield f"{word}\t{meaning}" if meaning else word
        yield f":{self.directive}"


def complete(words: list[str]) -> int:
    """Print what the last word can become.

    :param words: the words behind the program's name.
    """
    *before, last = words or [""]
    print(*candidates(before, last).lines(last), sep="\n")
    return 0


def candidates(before: list[str], last: str) -> Candidates:
    """What a word can become behind others."""
    if not before:
        if last.startswith("-"):
            return Candidates([("--help", "show the commands"), ("--version", "print the version")])
        return Candidates(SUBCOMMANDS.items())
    subcommand, *given = before
    if subcommand not in SUBCOMMANDS:
        return Candidates()
    if subcommand == "help" and not last.startswith("-"):
        return Candidates(() if given else SUBCOMMANDS.items())
    parser = parser_of(subcommand)
    if "--" in given:
        return _positional(parser, given)
    option = parser._option_string_actions.get(given[-1]) if given else None
    if option is not None and option.nargs != 0:
        return _values(option, last, "")
    if last.startswith("--") and "=" in last:
        name, _, value = last.partition("=")
        option = parser._option_string_actions.get(name)
        return Candidates() if option is None else _values(option, value, f"{name}=")
    if last.startswith("-") and last != "-":
        return _options(parser)
    found = _positional(parser, given)
    return found if found.found or found.directive == FILES or last else _options(parser)


def _options(parser: Parser) -> Candidates:
    shown = parser.option_names()
    return Candidates(
        (name, _short(action.help))
        for name, action in parser._option_string_actions.items()
        if name.startswith("--") and name in shown
    )


def _positional(parser: Parser, given: list[str]) -> Candidates:
    """The values of the argument without a name that comes next."""
    actions = parser._get_positional_actions()
    behind = sum(1 for word in _arguments(parser, given))
    if not actions or (behind >= len(actions) and actions[-1].nargs != "*"):
        return Candidates()
    return _values(actions[min(behind, len(actions) - 1)], "", "")


def _arguments(parser: Parser, given: list[str]) -> Iterator[str]:
    """The words that are neither options nor their values."""
    is_value = False
    for word in given:
        option = parser._option_string_actions.get(word)
        if not is_value and not word.startswith("--") and option is None:
            yield word
        is_value = not is_value and option is not None and option.nargs != 0


def _values(action: Action, typed: str, prefix: str) -> Candidates:
    """The values of an option or argument.

    :param prefix: what is in front of the value in the same word.
    """
    known = _KNOWN.get(action.option_strings[-1]) if action.option_strings else None
    if action.choices is not None:
        return Candidates((f"{prefix}{choice}", "") for choice in action.choices)
    if known is None:
        placeholder = str(action.metavar or "")
        return Candidates(directive=FILES if "FILE" in placeholder or "DIR" in placeholder else NO_FILES)
    separator, values = known
    if separator and "," in typed:
        prefix += typed[: typed.rindex(",") + 1]
    found = [(f"{prefix}{value}", meaning) for value, meaning in values()]
    return Candidates(found, NO_FILES | NO_SPACE if separator else NO_FILES)


def _releases() -> Iterator[Candidate]:
    from resourceapi.releases import RELEASES

    return ((release, "") for release in RELEASES)


def _gates() -> Iterator[Candidate]:
    from resourceapi.gates import GATES, UNRELEASED_GATES

    return (
        (f"{gate}={value}", "") for gate in sorted((*GATES, *UNRELEASED_GATES)) for value in ("true", "false")
    )


def _versions() -> Iterator[Candidate]:
    from resourceapi.model.versions import GROUP, SCHEMAS

    return ((f"{GROUP}/{version}=true", "") for version in SCHEMAS if version != "v1")


def _lints() -> Iterator[Candidate]:
    from commandline.lint import code_names

    return iter(code_names().items())


def _formats() -> Iterator[Candidate]:
    from commandline.reports import FORMATS

    return ((format, "") for format in FORMATS)


def _objectives() -> Iterator[Candidate]:
    from commandline.simulate.options import OBJECTIVES

    return ((objective, "") for objective in OBJECTIVES)


#: The values of options that accept others than their parser lists; and whether commas separate several.
_KNOWN: dict[str, tuple[bool, Callable[[], Iterable[Candidate]]]] = {
    "--kube-version": (False, _releases),
    "--feature-gates": (True, _gates),
    "--runtime-config": (True, _versions),
    "--disable": (True, _lints),
    "--output": (False, _formats),
    "--compare": (True, _objectives),
}


def _short(help: str | None) -> str:
    """The beginning of an option's help."""
    text = (help or "").replace("%%", "%").partition(";")[0]
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
