"""Documents that are made to break a reader get an answer from the command, soon, and within its memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.__main__ import MAX_MEGABYTES
from tests.fuzz.hostile import DOCUMENTS

# Enough for a processor that is slow, or shared: what reads 3 MiB in more than linear time takes hours.
MAX_SECONDS = 60

# The command in a process of its own, which says at its end what it has used.
RUN = """
import json, sys, time
from commandline.main import main
from tests.fuzz.memory import peak_megabytes
code = main(["validate", sys.argv[1]])
print(json.dumps([code, time.process_time(), peak_megabytes()]), file=open(sys.argv[2], "w"))
"""


@pytest.mark.parametrize("name", DOCUMENTS)
def test_hostile_document_gets_an_answer(name: str, tmp_path: Path) -> None:
    """The command says something about the file, without a traceback, soon, and in 200 MB."""
    file, usage = tmp_path / "hostile.yaml", tmp_path / "usage.json"
    file.write_bytes(DOCUMENTS[name])
    command = [sys.executable, "-c", RUN, str(file), str(usage)]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-2000:]
    assert result.stdout.strip()
    code, seconds, megabytes = json.loads(usage.read_text())
    assert code in (0, 1, 2)
    assert seconds <= MAX_SECONDS
    assert megabytes <= MAX_MEGABYTES
