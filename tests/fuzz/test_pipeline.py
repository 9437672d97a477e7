"""Whatever is asked, there is an answer, and soon."""

from __future__ import annotations

import json
import random
import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from deviceselectors.parser import allow_deep_recursion
from resourceapi.releases import Profile
from tests.fuzz.__main__ import make_request
from tests.fuzz.mutations import mutate
from validation.requests import STATUS, Request
from validation.server import Server

allow_deep_recursion()  # hypothesis objects to the limit being raised while it runs an example
SERVER = Server(Profile(), namespaces={"default": {}})


@given(st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_mutated_object_gets_an_answer(pick: random.Random) -> None:
    """A mutated object is accepted or refused; nothing is raised."""
    request, _ = make_request(pick, SERVER.profile)
    answer = SERVER.handle(request)
    assert answer.accepted == (answer.object is not None)
    assert answer.accepted != bool(answer.message)


def test_document_follows_from_its_number_alone() -> None:
    """A mutated document is the same whatever was mutated before it, so that a failure can be shown again."""
    document = {"kind": "Pod"}  # so small that later mutations often go into what earlier ones have added
    first, again = (
        [json.dumps(mutate(random.Random(number), document)) for number in range(2_000)] for _ in range(2)
    )
    assert first == again


def test_status_is_not_served_for_kinds_without_one() -> None:
    """A status update of a kind that has no status is answered as the server answers a path that it doesn't have."""
    stored = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "a"},
        "spec": {},
    }
    request = Request(
        verb=STATUS, api_version="resource.k8s.io/v1", kind="DeviceClass", body=stored, old=stored
    )
    answer = SERVER.handle(request)
    assert (answer.code, answer.message) == (404, "the server could not find the requested resource")


def test_bounded_run() -> None:
    """A short run of `make fuzz` in a process of its own: no exception, no hang, less than 200 MB."""
    command = [sys.executable, "-m", "tests.fuzz", "--count", "4000", "--seed", "2"]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
