"""What all tests share: how hypothesis runs, what collecting them costs, and where measured answers are if there are any."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import hypothesis
import pytest

_ROOT = Path(__file__).parents[1]


class CollectionWork(NamedTuple):
    """What the process has done when all tests are collected, counted rather than timed."""

    modules_of_others: int
    bytes_read: int
    longest_id: str


COLLECTION_WORK = pytest.StashKey[CollectionWork]()

# The same examples in every run, and no verdict by the clock: machines that run the tests differ and are shared.
hypothesis.settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("repeatable")


def _modules() -> Iterator[str]:
    for file in sorted(_ROOT.glob("[a-z]*/**/*.py")):
        parts = file.relative_to(_ROOT).with_suffix("").parts
        if parts[0] not in ("tests", "build") and parts[-1] != "__main__":
            yield ".".join(parts).removesuffix(".__init__")


# Hypothesis draws constants of the modules that happen to be loaded, which would depend on the tests that the same
# process has run before.
for _name in _modules():
    import_module(_name)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note what collecting has cost, for `tests/test_collection.py`."""
    ids = [item.nodeid for item in session.items]
    session.config.stash[COLLECTION_WORK] = CollectionWork(
        _modules_of_others(), _bytes_read(), max(ids, key=len, default="")
    )


def _modules_of_others() -> int:
    """How many modules are loaded that are not the project's own: of those, each is loaded once in any case."""
    own = {path.name for path in _ROOT.iterdir() if path.is_dir()}
    return sum(name.partition(".")[0] not in own for name in sys.modules)


def _bytes_read() -> int:
    """How much the process has read so far; 0 where the system does not tell."""
    counts = Path("/proc/self/io")
    return int(counts.read_text().split()[1]) if counts.exists() else 0


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Processes that a test starts take notice of SIGINT, also where the tests themselves run in the background.

    Shells let such programs ignore it, and those that they start inherit that.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The directory with the measured answers (`corpus/` and others); tests that need it skip where it is absent.

    It is `$CLAIMCHECK_SHARED`, else `shared` beside the project.
    """
    directory = Path(os.environ.get("CLAIMCHECK_SHARED") or _ROOT.parent / "shared")
    if not (directory / "corpus").is_dir():
        pytest.skip("no measured answers here (CLAIMCHECK_SHARED)")
    return directory
