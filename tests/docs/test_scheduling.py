"""The table of what can fail when a pod is scheduled has every message of the code, and no others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from allocator.errors import GAVE_UP
from allocator.explaining import shortfalls
from allocator.scheduling_outcome import device_reason
from scheduler.filtering import UNKNOWN_NODE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "scheduling.md").read_text("utf-8")
#: What tells users why a pod is not scheduled.
TOLD = {
    "ClaimProblem",
    "BindError",
    "ClaimConflict",
    "_KeepAllocationError",
    "NoPlace",
    "NotLeading",
    "Delay",
}
#: What the allocator says of nodes.
ALLOCATOR_ERRORS = {
    "AllocationError",
    "ExpressionError",
    "RefusedDeviceError",
    "UnreadyPoolError",
    "NodeError",
}
#: Where those are raised, and not caught again before anybody sees them.
RAISING = ("allocation", "attempt", "selection", "rules/capacity")
#: What serving says for a route.
ROUTE_MESSAGES = {"too_late", "too_many"}
#: Where functions return messages.
RETURNING = ("allocator/pre_filter.py", "scheduler/binding.py")
#: How what is said of a claim begins.
OBJECTION = "ResourceClaim … {}"
#: The words of others: of kube-scheduler, of the API server.
OF_OTHERS = re.compile(r"^… |^failed filter with extender")

#: What only a kube-scheduler before 1.37 says; the sidecar follows the rules of 1.37.
OF_FORMER_RELEASES = {"claim …: number of requested devices … exceeds the claim limit of …"}


def texts(node: ast.expr) -> Iterator[str]:
    """The texts that an expression can be, with … for what is filled in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    if isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    if isinstance(node, ast.Dict):
        for value in node.values:
            yield from texts(value)
    if isinstance(node, ast.Tuple):
        yield "".join(_piece(each) for each in node.elts)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ALLOCATOR_ERRORS:
        yield "".join(_piece(each) for each in node.args)


def _piece(node: ast.expr) -> str:
    """A part of an error's text (`allocator.errors.Text`), as it is without names of devices and pools."""
    if isinstance(node, ast.Starred):
        return _piece(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Mention":
        return "".join(texts(node.args[2])) if len(node.args) > 2 else ""
    return next(texts(node), "…")


def told() -> set[str]:
    """Every message of the sidecar."""
    found = {device_reason(""), shortfalls.TOGETHER, UNKNOWN_NODE, GAVE_UP}
    for file in (*(ROOT / "scheduler").glob("*.py"), ROOT / "cluster" / "leading.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in TOLD:
                found.update(texts(node.args[0]))
            if isinstance(node, ast.keyword) and node.arg in ROUTE_MESSAGES:
                found.update(texts(node.value))
    found.update(*map(texts, _errors_of_allocator()), *map(texts, _returned()), _objections())
    assert found >= OF_FORMER_RELEASES
    return (
        found - OF_FORMER_RELEASES - {"…", OBJECTION.format("…")}
    )  # what is wrong with a claim, which the API server does not take


def _objections() -> set[str]:
    """What is said of a claim that a pod cannot use."""
    tree = ast.parse((ROOT / "resourceapi" / "records" / "claim_use.py").read_text("utf-8"))
    returned = [
        each.value for each in ast.walk(tree) if isinstance(each, ast.Return) and each.value is not None
    ]
    return {OBJECTION.format(text) for each in returned for text in texts(each) if text}


def _errors_of_allocator() -> Iterator[ast.expr]:
    for name in RAISING:
        for node in ast.walk(ast.parse((ROOT / "allocator" / f"{name}.py").read_text("utf-8"))):
            if isinstance(node, ast.Call):
                yield node


def _returned() -> Iterator[ast.expr]:
    """Sentences; what has no spaces are parts of paths."""
    for name in RETURNING:
        for node in ast.walk(ast.parse((ROOT / name).read_text("utf-8"))):
            if isinstance(node, ast.Return) and node.value is not None:
                found = (
                    (node.value.body, node.value.orelse)
                    if isinstance(node.value, ast.IfExp)
                    else (node.value,)
                )
                yield from (each for each in found if any(" " in text for text in texts(each)))


def shown() -> set[str]:
    """Every message of the table."""
    rows = [line.split("|") for line in PAGE.splitlines() if re.match(r"\| (filter|bind|all)", line)]
    return {message for row in rows for message in re.findall(r"`([^`]+)`", row[2])}


@pytest.mark.parametrize("message", sorted(told()))
def test_message_is_explained(message: str) -> None:
    """What it means, and what happens next."""
    assert message in shown()


def test_explained_messages_exist() -> None:
    """Those of rows that are not of others are in the sources, word by word."""
    sources = "".join(
        text
        for package in ("scheduler", "allocator", "cluster")
        for file in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.expr)
        for text in texts(node)
    )
    unknown = {each for each in shown() if not OF_OTHERS.search(each) and each not in sources}
    assert not unknown - _objections()
