"""The data files of a release: what its server says of itself, as tests and product read it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from resourceapi import other_gates
from resourceapi.gates import GATES
from resourceapi.model import workloads
from tests.release.fields import Fields

GROUP = "resource.k8s.io"
_DATA = Path(__file__).parents[1] / "resourceapi" / "data"


class Record(NamedTuple):
    """What a server says of itself.

    `release`: versions of the group and their kinds, served by default and with every API; the gates that the product has
    rows for; the kinds of all groups by version. `other_gates`: the other gates, and what they depend on. `fields`: those
    of the group. `workloads`: the structs of pods and of the kinds that hold a pod template.
    """

    release: dict[str, Any]
    other_gates: dict[str, Any]
    fields: Fields
    workloads: dict[str, Any]


def write(release: str, record: Record) -> list[Path]:
    """Write the data files of a release (`1.36`); returns their paths."""
    own, others = by_table(record)
    files = {
        _DATA / "releases" / f"{release}.json": _indented(record.release | own),
        other_gates.DATA / f"{release}.json": _indented(others),
        _DATA / "fields" / f"{release}.json": _by_line(record.fields),
        Path(workloads.DATA) / f"{release}.json": _by_line(_otherwise(record.workloads)),
    }
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(files)


def write_refusals(release: str, ask: Callable[[str], str], *, again: bool) -> None:
    """Fill in what the server of a release says to settings of gates (`ask`), where that is missing, or everywhere."""
    path = _DATA / "refusals.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    for row in rows:
        if row["release"] == release and (again or "error" not in row):
            row["error"] = ask(row["settings"])
        row["error"] = _in_order(row["error"])
    path.write_text(_indented(rows), encoding="utf-8")


def _in_order(error: str) -> str:
    """Several reasons come in no particular order: here in that of the alphabet."""
    several = re.fullmatch(r"\[(.*)\]", error)
    reasons = re.split(r", (?=cannot set|\w+ is enabled)", several[1]) if several else []
    return f"[{', '.join(sorted(reasons))}]" if reasons else error


def by_table(record: Record) -> tuple[dict[str, Any], dict[str, Any]]:
    """The gates that the product has rows for, and all others, each as its file has them."""
    gates = record.release["gates"] | record.other_gates["stages"]
    needs = record.release["dependsOn"] | record.other_gates["dependsOn"]
    parts = [
        {key: {gate: of[gate] for gate in sorted(of) if (gate in GATES) is own} for key, of in named.items()}
        for own, named in (
            (True, {"gates": gates, "dependsOn": needs}),
            (False, {"stages": gates, "dependsOn": needs}),
        )
    ]
    return parts[0], parts[1]


def fields(release: str) -> Fields:
    """The fields of a release as they are recorded."""
    text = (_DATA / "fields" / f"{release}.json").read_text(encoding="utf-8")
    found: Fields = json.loads(text)
    return found


def releases_with_fields() -> list[str]:
    """The releases whose fields are recorded."""
    return sorted(path.stem for path in (_DATA / "fields").glob("*.json"))


def _otherwise(structs: dict[str, Any]) -> dict[str, Any]:
    """The structs that are not as in the release that is written out whole."""
    whole = json.loads(Path(workloads.WHOLE).read_text(encoding="utf-8"))
    return {name: fields for name, fields in sorted(structs.items()) if whole.get(name) != fields}


def _indented(content: Any) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _by_line(content: dict[str, Any]) -> str:
    """JSON with a line for each struct, in up to two levels."""
    parts = []
    for name, value in content.items():
        if isinstance(value, dict):
            inner = ",\n".join(f" {json.dumps(key)}: {json.dumps(entry)}" for key, entry in value.items())
            parts.append(f"{json.dumps(name)}: {{\n{inner}\n}}")
        else:
            parts.append(f"{json.dumps(name)}:{json.dumps(value, separators=(',', ':'))}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
