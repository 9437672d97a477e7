"""What `validate` loads: every start pays for what is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.bench.claims import write_claims

_PROGRAM = """
import sys
from commandline.main import main
assert main(["validate", sys.argv[1]]) == 0
print(*sorted(sys.modules))
"""


def test_a_plain_claim_is_validated_without_the_allocator(tmp_path: Path) -> None:
    """Neither what finds devices, nor what evaluates expressions, nor what explains errors is needed for a claim without any."""
    write_claims(tmp_path, 1)
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, tmp_path], check=True, capture_output=True, text=True
    )
    loaded = done.stdout.splitlines()[-1].split()
    needless = (
        "allocator",
        "advice.hints",
        "advice.interpreter",
        "deviceselectors.runtime.evaluator",
        "pathlib",
    )
    assert [name for name in needless if name in loaded] == []
