"""Documents that are made to break a reader get an answer from the command, soon, and within its memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.__main__ import MAX_MEGABYTES, MAX_SECONDS
from tests.fuzz.hostile import DOCUMENTS

CLAIMCHECK = Path(sys.executable).with_name("claimcheck")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_hostile_document_gets_an_answer(name: str, tmp_path: Path) -> None:
    """The command says something about the file, without a traceback, in two seconds of CPU time and 200 MB."""
    file = tmp_path / "hostile.yaml"
    file.write_bytes(DOCUMENTS[name])
    with open(tmp_path / "output", "w+b") as output:
        command = [str(CLAIMCHECK), "validate", str(file)]
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode()
    assert process.returncode in (0, 1, 2), text[-2000:]
    assert "Traceback" not in text, text[-2000:]
    assert text.strip()
    assert usage.ru_utime + usage.ru_stime <= 2 * MAX_SECONDS  # reading 3 MiB and reporting on it
    assert usage.ru_maxrss <= MAX_MEGABYTES * 1024
