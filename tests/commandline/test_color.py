"""When text is in color."""

from __future__ import annotations

from io import StringIO

import pytest

from commandline.terminal import is_colored


class _Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("choice", "variables", "on_terminal", "in_pipe"),
    [
        ("auto", {}, True, False),
        ("always", {}, True, True),
        ("never", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, False, False),
        ("auto", {"NO_COLOR": ""}, True, False),
        ("auto", {"TERM": "dumb"}, False, False),
        ("auto", {"FORCE_COLOR": "1"}, True, True),
        ("auto", {"CLICOLOR_FORCE": "1"}, True, True),
        ("auto", {"FORCE_COLOR": "0"}, True, False),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ("always", {"NO_COLOR": "1", "TERM": "dumb"}, True, True),
        ("never", {"FORCE_COLOR": "1"}, False, False),
    ],
)
def test_choice(
    choice: str,
    variables: dict[str, str],
    on_terminal: bool,
    in_pipe: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The option counts most, then NO_COLOR, then the variables that force color, then the stream."""
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert is_colored(choice, _Terminal()) is on_terminal
    assert is_colored(choice, StringIO()) is in_pipe
