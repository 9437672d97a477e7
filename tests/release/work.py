"""What a release has otherwise than the product says, as a list of work: where to write it down, how many cases show it, one of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from resourceapi import recognition
from resourceapi.gates import DEPENDS_ON, GATES, stage_of
from resourceapi.kinds import KINDS
from tests.conformance.answers import Case, same_json
from tests.conformance.comparison import Comparison
from tests.release.data import GROUP
from tests.release.fields import Fields, modelled

SERVED, GATE, KIND, FIELD, VERDICT, MESSAGE, OBJECT, WARNING = STEPS = (
    "served versions",
    "feature gates",
    "kinds of other groups",
    "fields",
    "verdicts",
    "messages",
    "returned objects",
    "warnings",
)
"""The parts of the list, in the order in which the recipe goes through them."""
PLACES = {
    SERVED: "`versions` and `former` in resourceapi/kinds.py",
    GATE: "GATES and DEPENDS_ON in resourceapi/gates.py",
    KIND: "resourceapi/recognition.py",
    FIELD: "`since=`, `until=`, `.before(…)` in resourceapi/model",
    VERDICT: "what the messages below do not explain",
    MESSAGE: "rules in resourceapi/model and validation (`checks.minor`), texts in validation/kind_rules.py, functions of CEL (`since=`)",
    OBJECT: "defaults and gates of fields in resourceapi/model, `default_…` beside them",
    WARNING: "`Lifecycle` in resourceapi/kinds.py, `warnings` in validation",
}


class Task(NamedTuple):
    """One thing to write down: `what` in words; `cases` that show it and the id of the first (0 and "" if a record shows it)."""

    step: str
    what: str
    cases: int = 0
    example: str = ""


def of_record(minor: int, near: int, record: Mapping[str, Any], fields: Fields) -> Iterator[Task]:
    """What a server of 1.`minor` says of itself otherwise than the product says of 1.`near`."""
    yield from _served(near, record)
    yield from _gates(minor, near, record)
    yield from _kinds(near, record)
    yield from _fields(near, fields)


def _served(near: int, record: Mapping[str, Any]) -> Iterator[Task]:
    there = {(kind, version) for version, kinds in record["servedWithAll"].items() for kind in kinds}
    known = {
        (kind.name, version)
        for kind in KINDS.values()
        for version in (*kind.versions, *kind.former)
        if kind.served(version, near)
    }
    for kind, version in sorted(there ^ known):
        yield Task(SERVED, f"{kind} in {version}: {_which((kind, version) in there)}")


def _which(on_server: bool) -> str:
    return "the server has it" if on_server else "the server has it no more"


def _gates(minor: int, near: int, record: Mapping[str, Any]) -> Iterator[Task]:
    ours = {gate: _described(gate, near) for gate in GATES}
    gates = record["gates"]
    for gate in sorted(ours.keys() | gates.keys()):
        mine, theirs = ours.get(gate) or "not there", gates.get(gate) or "not there"
        if mine != theirs:
            yield Task(GATE, f"{gate}: {theirs}, which was {mine}: Stage({minor}, …)")
    needs = {gate: list(needed) for gate, needed in DEPENDS_ON.items() if gate in gates}
    for gate in sorted(needs.keys() | record["dependsOn"].keys()) if record["dependsOn"] else ():
        mine = ", ".join(sorted(_settable(needs.get(gate, ()), gates))) or "nothing"
        theirs = ", ".join(record["dependsOn"].get(gate, ())) or "nothing"
        if mine != theirs and not gates[gate].endswith("locked"):
            yield Task(GATE, f"{gate} depends on {theirs}; here on {mine}")


def _settable(gates: Iterable[str], record: Mapping[str, str]) -> list[str]:
    """Those that can be off: of others no server can say that anything depends on them."""
    return [gate for gate in gates if gate in record and not record[gate].endswith("locked")]


def _described(gate: str, minor: int) -> str:
    stage = stage_of(gate, minor)
    if stage is None:
        return ""
    return f"{stage.stage} {'on' if stage.default else 'off'}{' locked' if stage.locked else ''}"


def unknown_gates(others: Iterable[str], near_others: Iterable[str]) -> Iterator[Task]:
    """Gates that the nearest release does not have and that have no row: one that has a say about DRA objects needs one."""
    for gate in sorted(set(others) - set(near_others)):
        if gate.startswith(("DRA", "Dynamic")):
            yield Task(GATE, f"{gate} is new: does it have a say about DRA objects? Then it needs a row")


def _kinds(near: int, record: Mapping[str, Any]) -> Iterator[Task]:
    known = recognition.kinds_by_version(near)
    recorded = {version: set(kinds.split()) for version, kinds in record["kinds"].items()}
    for version in sorted(recorded.keys() | known.keys()):
        if not version.startswith(f"{GROUP}/"):
            there = recorded.get(version, set())
            for kind in sorted(there ^ known.get(version, frozenset())):
                yield Task(KIND, f"{kind} in {version}: {_which(kind in there)}")


def _fields(near: int, fields: Fields) -> Iterator[Task]:
    model = modelled(near)
    for version in sorted(fields.keys() & model.keys()):
        for struct in sorted(fields[version].keys() | model[version].keys()):
            yield from _of_struct(
                f"{struct} in {version}", fields[version].get(struct), model[version].get(struct)
            )


def _of_struct(name: str, theirs: Mapping[str, str] | None, mine: Mapping[str, str] | None) -> Iterator[Task]:
    if theirs is None or mine is None:
        yield Task(FIELD, f"{name}: {_which(theirs is not None)}")
        return
    for field in sorted(theirs.keys() | mine.keys()):
        if field not in mine:
            yield Task(FIELD, f"{name}: {field} is new: {theirs[field]}")
        elif field not in theirs:
            yield Task(FIELD, f"{name}: {field} is gone")
        elif theirs[field] != _documented(mine[field], theirs[field]):
            yield Task(FIELD, f"{name}: {field} is {theirs[field]}; here {mine[field]}")


def _documented(mine: str, theirs: str) -> str:
    """Without what the server's document need not mention: values of an enumeration, a default that is filled in by code."""
    for part in ("default", "enum"):
        if f" {part}(" not in theirs:
            mine = re.sub(rf" {part}\([^)]*\)", "", mine)
    return mine


def of_answers(compared: Iterable[tuple[Case, Comparison]]) -> list[Task]:
    """What the answers that differ have in common: one task for each text, or path of a returned object, most cases first."""
    found: dict[tuple[str, str], list[str]] = {}
    for case, comparison in compared:
        shown = set(_shown(case, comparison))
        for step, text in shown or {(VERDICT, _verdict(case, comparison))}:
            found.setdefault((step, text), []).append(case["id"])
    tasks = [Task(step, text, len(ids), ids[0]) for (step, text), ids in found.items()]
    return sorted(tasks, key=lambda task: (STEPS.index(task.step), -task.cases, task.what))


def _shown(case: Case, comparison: Comparison) -> Iterator[tuple[str, str]]:
    parts = {part: (theirs, mine) for part, theirs, mine in comparison.differences}
    if "causes" in parts:
        theirs, mine = ([_cause(cause) for cause in causes] for causes in parts["causes"])
        yield from _marked(MESSAGE, theirs, mine, f"{case['kind']} ")
        if sorted(theirs) == sorted(mine):
            yield MESSAGE, f"{case['kind']}: the same errors in another order, or with other values"
    elif "message" in parts:
        theirs, mine = ([_pattern(text)] if text else [] for text in parts["message"])
        yield from _marked(MESSAGE, theirs, mine, "")
    if "warnings" in parts:
        theirs, mine = ([_pattern(text) for text in texts] for texts in parts["warnings"])
        yield from _marked(WARNING, theirs, mine, "")
    for part in ("object", "converted"):
        theirs, mine = parts.get(part, (None, None))
        if theirs is not None and mine is not None:
            for path, text in _changes(theirs, mine, ""):
                yield OBJECT, f"{case['kind']} {path}: {text}"


def _marked(step: str, theirs: list[str], mine: list[str], prefix: str) -> Iterator[tuple[str, str]]:
    """Texts that only one of the two says, or that one says more often."""
    for text in sorted({*theirs, *mine}):
        more = theirs.count(text) - mine.count(text)
        if more:
            who = "the server says" if more > 0 else "only we say"
            again = " (again)" if text in theirs and text in mine else ""
            yield step, f"{who}{again}: {prefix}{text}"


def _verdict(case: Case, comparison: Comparison) -> str:
    parts = ", ".join(part for part, _, _ in comparison.differences)
    return f"{case['verb']} {case['kind']}: {parts} differ"


def _cause(cause: Mapping[str, str]) -> str:
    return f"{_path(cause['field'])}: {_pattern(cause['message'])}"


_INDEX = re.compile(r"\[[^\]]*\]")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_VALUE = re.compile(r"(?s)((?:Invalid|Unsupported|Duplicate) value|Not found): (?:[{\[].*[}\]]|[^:]*?): ")


def _path(path: str) -> str:
    return _INDEX.sub("[*]", path)


def _pattern(text: str) -> str:
    """A message without the values that it is about."""
    text = _VALUE.sub(r"\1: …: ", _TEXT.sub("…", text))
    return _INDEX.sub("[*]", text)[:300]


def _changes(theirs: Any, mine: Any, path: str) -> Iterator[tuple[str, str]]:
    """Where two JSON values differ, indexes left out."""
    if isinstance(theirs, dict) and isinstance(mine, dict):
        for key in sorted(theirs.keys() | mine.keys()):
            inner = f"{path}.{key}".lstrip(".")
            if key not in mine:
                yield inner, "only the server returns it"
            elif key not in theirs:
                yield inner, "the server drops it"
            else:
                yield from _changes(theirs[key], mine[key], inner)
    elif isinstance(theirs, list) and isinstance(mine, list) and len(theirs) == len(mine):
        for left, right in zip(theirs, mine, strict=True):
            yield from _changes(left, right, f"{path}[*]")
    elif not same_json(theirs, mine):
        yield path, "the server returns another value"


def printed(tasks: Iterable[Task]) -> str:
    """The list as text: by step, with what to do there."""
    tasks = list(tasks)
    lines = []
    for step in STEPS:
        of_step = [task for task in tasks if task.step == step]
        if not of_step:
            continue
        lines += ["", f"{step} ({len(of_step)}): {PLACES[step]}"]
        for task in of_step:
            shown = f"{task.cases:5} cases: " if task.cases else "  "
            example = f"  [{task.example}]" if task.example else ""
            lines.append(f"{shown}{task.what}{example}")
    return "\n".join(lines).lstrip("\n") or "nothing differs"
