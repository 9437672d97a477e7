"""The command line of hunts in random live clusters, one for each seed."""

from __future__ import annotations

import argparse
import contextlib
import signal
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol


class Hunter(Protocol):
    """Compares a random cluster with what is said of it.

    :ivar counted: what has been looked at so far.
    """

    counted: Counter[str]

    def differences(self, seed: int) -> Iterable[Sequence[object]]:
        """All that differs in the cluster of a seed."""


def hunt(name: str, purpose: str, unit: str, hunter: AbstractContextManager[Hunter]) -> int:
    """Print what differs, also if it is interrupted.

    :param unit: what there is one of for each seed, in the plural.
    :returns: the exit code: 1 if something differs.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description=purpose.splitlines()[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=20, metavar="N", help=unit)
    options = parser.parse_args()
    differing = done = 0
    # ended from outside, it has to stop the control plane and tell what it has found
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    counted: Counter[str] = Counter()
    with contextlib.suppress(KeyboardInterrupt), hunter as live:
        counted = live.counted
        for seed in range(options.seed, options.seed + options.count):
            for each in live.differences(seed):
                differing += 1
                print(seed, *each, sep=" | ", flush=True)
            done += 1
    print(
        f"{done} {unit}, {differing} differences;",
        ", ".join(f"{count} {what}" for what, count in sorted(counted.items())),
    )
    return int(differing > 0)
