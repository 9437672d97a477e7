"""Real API servers for tests; every test below this directory is marked `e2e`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.control_plane import ApiServer, control_plane
from tests.e2e.seed import SEED


def pytest_report_header() -> str:
    """The seed, made before the processes of pytest-xdist start, so that they have the same."""
    return f"CLAIMCHECK_E2E_SEED={SEED}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def api_server() -> Iterator[Callable[[str], ApiServer]]:
    """`api_server(profile)`: the server of that profile, started when first asked for, stopped after the last test."""
    with contextlib.ExitStack() as stack:
        servers: dict[str, ApiServer] = {}

        def server(profile: str) -> ApiServer:
            if profile not in servers:
                servers[profile] = stack.enter_context(control_plane(profile))
            return servers[profile]

        yield server
