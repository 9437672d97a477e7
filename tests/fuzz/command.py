"""The command on a mutated text: all of its reports, conversions, updates."""

from __future__ import annotations

import contextlib
import gc
import io
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from commandline.main import main
from commandline.reports import FORMATS
from resourceapi.model.versions import SCHEMAS
from resourceapi.releases import RELEASES


def run_command(pick: random.Random, text: bytes) -> int:
    """Run `claimcheck validate` or `convert` on a file with the text; the exit code."""
    with tempfile.TemporaryDirectory(prefix="claimcheck-fuzz-") as name:
        file = Path(name, "file.yaml")
        file.write_bytes(text)
        output = io.TextIOWrapper(io.BytesIO(), encoding=pick.choice(("utf-8", "ascii")))
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output), _collector_as_it_is():
            code = main([*_arguments(pick, str(file)), str(file)])
        if code not in (0, 1, 2):
            raise AssertionError(f"exit code {code}")
    return code


@contextlib.contextmanager
def _collector_as_it_is() -> Iterator[None]:
    """The command makes Python collect garbage more rarely, which suits its short life but not that of a fuzzer."""
    thresholds = gc.get_threshold()
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def _arguments(pick: random.Random, file: str) -> list[str]:
    if pick.random() < 0.2:
        return ["convert", "--to", pick.choice(tuple(SCHEMAS)), *pick.choice(((), ("--in-place",)))]
    arguments = ["validate", "-o", pick.choice(tuple(FORMATS)), "--kube-version", pick.choice(RELEASES)]
    more: tuple[list[str], ...] = (
        ["--old", file],
        ["--inventory", file],
        ["--no-lint"],
        ["--namespace-labels", "a=b"],
        [],
        [],
        [],
    )
    return arguments + pick.choice(more)
