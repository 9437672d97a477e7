"""`python -m tests.bench.expressions`: the expressions of 10,000 claims, beside upstream's compiler.

Every claim has 8 selectors. Once all 80,000 are different, so that each is parsed, checked and costed; once all claims have
the same 8, as claims made from templates have: Claimcheck remembers verdicts, upstream compiles each time. Upstream's time
is what its compiler alone needs (`compileNs` of the referee), estimated from a sample; Claimcheck's is that of
validating the whole claims. One process, one thread on either side; nothing is asserted.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
from typing import Any

from resourceapi.releases import Profile
from tests.bench.claims import claim
from tests.e2e import referee
from validation.requests import Request
from validation.server import Server

_CLAIMS = 10_000
_SELECTORS = 8
_ROUND = 1_000
_SAMPLE = 60
_DRIVERS = ("gpu.example.com", "nic.example.org", "accelerator.vendor.example")


def main() -> None:
    if not referee.is_available():
        print("no comparison of expressions: the referee's sources are not there (CLAIMCHECK_SHARED)")
        return
    gc.set_threshold(100_000)  # as the command does
    draw = random.Random(1)
    different = [[_expression(draw, 8 * n + i) for i in range(_SELECTORS)] for n in range(_CLAIMS)]
    same = [different[0]] * _CLAIMS
    ours, repeated, theirs = 0.0, 0.0, 0.0
    for first in range(0, _CLAIMS, _ROUND):  # in turns, as the machine is not equally fast all the time
        part = slice(first, first + _ROUND)
        sample = draw.sample([text for texts in different[part] for text in texts], _SAMPLE)
        theirs += _peer_seconds(sample) * _ROUND * _SELECTORS
        ours += _seconds(different[part])
        repeated += _seconds(same[part])
    print(
        f"{_CLAIMS} claims with {_SELECTORS} selectors each{'':10}{'claimcheck':>12}{'upstream':>12}{'ratio':>8}"
    )
    _print("all selectors different", ours, theirs)
    _print("the same 8 in every claim", repeated, theirs)


def _expression(draw: random.Random, number: int) -> str:
    """A selector as people write them, made different from all others by its number."""
    driver = draw.choice(_DRIVERS)
    attributes, capacity = f'device.attributes["{driver}"]', f'device.capacity["{driver}"]'
    parts = (
        f'{attributes}.model == "m{number}"',
        f"{attributes}.index < {number}",
        f'{capacity}.memory.compareTo(quantity("{number}Mi")) >= 0',
        f'{attributes}.driverVersion.compareTo(semver("1.{number}.0")) >= 0',
        f'has({attributes}.family) && {attributes}.family.startsWith("f{number}")',
    )
    pinned = f'device.driver == "{driver}" && '
    return (pinned if draw.random() < 0.5 else "") + " && ".join(draw.sample(parts, draw.randint(1, 2)))


def _peer_seconds(expressions: list[str]) -> float:
    """The mean time of upstream's compiler for one expression, its cost estimate included."""
    answers = referee.ask(
        [{"expr": text, "env": "new"} for text in expressions], "-bench", "-bench-time", "5ms"
    )
    return float(statistics.mean(answer["compileNs"] for answer in answers)) * 1e-9


def _seconds(selectors: list[list[str]]) -> float:
    """The time of validating claims with these selectors, by the clock as on the other side."""
    server = Server(Profile(), namespaces={"default": {}})
    bodies = [_claim(texts) for texts in selectors]
    start = time.perf_counter()
    for body in bodies:
        request = Request(api_version=body["apiVersion"], kind=body["kind"], namespace="default", body=body)
        answer = server.handle(request)
        if not answer.accepted:
            raise SystemExit(f"the claim is refused: {answer.message}")
    return time.perf_counter() - start


def _claim(texts: list[str]) -> dict[str, Any]:
    selectors = [{"cel": {"expression": text}} for text in texts]
    return claim(
        [{"name": "main", "exactly": {"deviceClassName": "gpu.example.com", "selectors": selectors}}]
    )


def _print(title: str, ours: float, theirs: float) -> None:
    print(f"{title:40}{ours:10.2f} s{theirs:10.2f} s{theirs / ours:7.1f}x", flush=True)


if __name__ == "__main__":
    main()
