"""What all tests share: how hypothesis runs, and where measured answers are if this machine has them."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

# The same examples in every run, and no verdict by the clock: machines that run the tests differ and are shared.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The directory with the measured answers (`corpus/` and others); tests that need it skip where it is absent.

    It is `$CLAIMCHECK_SHARED`, else `shared` beside the project.
    """
    directory = Path(os.environ.get("CLAIMCHECK_SHARED") or Path(__file__).parents[2] / "shared")
    if not (directory / "corpus").is_dir():
        pytest.skip("no measured answers here (CLAIMCHECK_SHARED)")
    return directory
