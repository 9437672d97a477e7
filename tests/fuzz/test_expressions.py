"""Expressions that try to be more than expressions: a short run of what `make fuzz` runs, and its alarm."""

from __future__ import annotations

import subprocess
import sys

import pytest

_WATCHED = """
from tests.fuzz.auditing import Watch
watch = Watch()
try:
    with watch.watching():
        {work}
except PermissionError:
    pass
print(len(watch.violations))
"""


def test_bounded_run() -> None:
    """In a process of its own, as audit hooks cannot be taken away: answers with and without counting agree, and nothing else happens."""
    command = [sys.executable, "-m", "tests.fuzz.expressions", "--count", "2000", "--seed", "2"]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("work", "violations"),
    [
        ("__import__('os').system('true')", 1),
        ("__import__('subprocess').run(['true'])", 1),
        ("open('/dev/null')", 1),
        ("import colorsys", 1),
        ("exec('1')", 1),
        ("eval('1')", 1),
        ("compile('1', '<cel>', 'eval')", 1),
        ("len('1')", 0),
    ],
)
def test_alarm(work: str, violations: int) -> None:
    """What reaches for the system or for source is noticed."""
    command = [sys.executable, "-c", _WATCHED.format(work=work)]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(result.stdout) == violations
