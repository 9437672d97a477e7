"""Writes the clusters of `on_call.yaml` into files, for tests that are not in Python: ``python -m … DIRECTORY``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import yaml


def main(directory: Path) -> None:
    """Write `CASE.yaml` for each cluster, with the pod that waits in it, and `cases.json`: their names, options and words to expect."""
    cases = list(yaml.safe_load_all(Path(__file__).with_name("on_call.yaml").read_text("utf-8")))
    for case in cases:
        text = yaml.safe_dump_all([*case.pop("cluster"), *case.pop("asked")])
        (directory / f"{case['case']}.yaml").write_text(text, encoding="utf-8")
    (directory / "cases.json").write_text(json.dumps(cases), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
