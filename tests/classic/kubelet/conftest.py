"""A node for every test."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.classic.kubelet.node import Node


@pytest.fixture
def node() -> Iterator[Node]:
    # pytest's own directories are too deep for the paths of sockets.
    with tempfile.TemporaryDirectory() as directory:
        yield Node(Path(directory))
