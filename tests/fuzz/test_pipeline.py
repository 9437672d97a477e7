"""Whatever is asked, there is an answer, and soon."""

from __future__ import annotations

import random
import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from resourceapi.releases import Profile
from tests.fuzz.__main__ import make_request
from validation.server import Server

SERVER = Server(Profile(), namespaces={"default": {}})


@given(st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_mutated_object_gets_an_answer(pick: random.Random) -> None:
    """A mutated object is accepted or refused; nothing is raised."""
    request, _ = make_request(pick, SERVER.profile)
    answer = SERVER.handle(request)
    assert answer.accepted == (answer.object is not None)
    assert answer.accepted != bool(answer.message)


def test_bounded_run() -> None:
    """A short run of `make fuzz` in a process of its own: no exception, no hang, less than 200 MB."""
    command = [sys.executable, "-m", "tests.fuzz", "--count", "15000", "--seed", "2"]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
