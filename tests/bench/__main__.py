"""`python -m tests.bench`: times of Claimcheck beside those of kubectl-validate, taken in turns in one run.

It prints medians and their ratios and asserts nothing about them: a shared machine is no judge, which is also why CPU
times stand beside those by the clock. It does insist that both tools find every file valid, as otherwise they would not
have done the same work.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from resourceapi.releases import Profile
from tests.bench.claims import prioritized_claim, write_claims
from tests.bench.peer import kubectl_validate
from validation.requests import Request
from validation.server import Server

_FILES = 2_000
_REPETITIONS = 5_000


class _Times(NamedTuple):
    """What a run took, in seconds: by the clock, and of all processors together."""

    clock: float
    cpu: float


def main() -> None:
    claimcheck = [str(Path(sys.executable).with_name("claimcheck")), "validate"]
    peer = kubectl_validate()
    with tempfile.TemporaryDirectory(prefix="claimcheck-bench-") as name:
        many, one = Path(name) / "many", Path(name) / "one"
        for directory, count in ((many, _FILES), (one, 1)):
            directory.mkdir()
            write_claims(directory, count)
        file = one / "claim-0000.yaml"
        print(f"{'':32}{'claimcheck':>14}{'kubectl-validate':>18}{'ratio':>9}")
        for title, jobs in ((f"{_FILES} files", ()), ("the same, one process", ("--jobs", "1"))):
            _side_by_side(title, [*claimcheck, *jobs, str(many)], [*peer, str(many)], rounds=5)
        _side_by_side("one file, cold", [*claimcheck, str(file)], [*peer, str(file)], rounds=21)
    _in_process()


def _in_process() -> None:
    """The median of validating one decoded claim over and over: decoding to answer, without reading YAML."""
    server = Server(Profile(), namespaces={"default": {}})
    body = prioritized_claim(subrequests=8)
    times = []
    for _ in range(_REPETITIONS):
        request = Request(api_version=body["apiVersion"], kind=body["kind"], namespace="default", body=body)
        start = time.perf_counter()
        answer = server.handle(request)
        times.append(time.perf_counter() - start)
    if not answer.accepted:
        raise SystemExit(f"the claim is refused: {answer.message}")
    print(
        f"{'claim with 8 subrequests and 8 selectors, in process':53}{statistics.median(times) * 1e6:8.0f} us"
    )


def _side_by_side(title: str, ours: list[str], theirs: list[str], rounds: int) -> None:
    runs: tuple[list[_Times], list[_Times]] = ([], [])
    for _ in range(rounds):
        for command, times in zip((ours, theirs), runs, strict=True):
            times.append(_run(command))
    for index, clock in enumerate(_Times._fields):
        mine, peers = (statistics.median(times[index] for times in each) for each in runs)
        label = f"{title}, {clock}"
        print(f"{label:32}{mine * 1e3:11.0f} ms{peers * 1e3:15.0f} ms{peers / mine:8.2f}x", flush=True)


def _run(command: list[str]) -> _Times:
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            output.seek(0)
            raise SystemExit(f"{command[0]} finds fault:\n{output.read().decode()[-2000:]}")
    return _Times(seconds, usage.ru_utime + usage.ru_stime)


if __name__ == "__main__":
    main()
