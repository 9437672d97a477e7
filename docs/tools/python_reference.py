"""The page of docs/reference about the Python API, from its docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import claimcheck
from claimcheck import pytest_plugin

#: The headings of the page, and what stands below each.
_GROUPS = {
    "Objects": ("validate", "Finding", "convert"),
    "Clusters": ("Cluster", "Device"),
    "Scheduling": (
        "explain",
        "Explanation",
        "Remedy",
        "simulate",
        "Simulation",
        "Placement",
        "AllocatedDevice",
    ),
    "Expressions": ("Expression", "Evaluation"),
    "Tests": ("FakeCluster", "Scheduled", "Unschedulable"),
    "Errors": ("ClaimcheckError",),
}
_FIELD = re.compile(r":(param|returns|raises)\s*([\w.]*): ")
_ROLE = re.compile(r":\w+:`([^`]*)`")
_QUOTED = re.compile(r"(: |-> )'([^']*)'")


def blocks() -> Iterator[str]:
    """The parts of the page.

    :raises ValueError: if a public name has no place on it.
    """
    listed = {name for names in _GROUPS.values() for name in names}
    if listed != set(claimcheck.__all__):
        raise ValueError(f"name each of {sorted(listed ^ set(claimcheck.__all__))} in a group, or nowhere")
    yield (
        "What `import claimcheck` offers, and what may be relied on: [the guide](../how-to/python.md) shows how. Other modules of the "
        "distribution are private. An incompatible change of what is on this page is noted in the changelog, and comes with a new minor version."
    )
    yield (
        "`Objects` stands for one object or several: a dictionary, a model of `kubernetes.client`, a text in YAML or JSON, the "
        "`pathlib.Path` of a file or directory, or an iterable of these."
    )
    for title, names in _GROUPS.items():
        yield f"## {title}"
        for name in names:
            yield from _entry(name, getattr(claimcheck, name))
    yield "## The plugin for pytest"
    yield from _entry("assert_valid", pytest_plugin.assert_valid)
    fixture = pytest_plugin.dra_cluster
    yield "### dra_cluster"
    yield from _described(inspect.getdoc(getattr(fixture, "__wrapped__", fixture)) or "")


def _entry(name: str, value: Any) -> Iterator[str]:
    yield f"### {name}"
    if not inspect.isclass(value):
        yield f"```python\n{_signature(name, value)}\n```"
        yield from _described(inspect.getdoc(value) or "")
        return
    init = vars(value).get("__init__")
    has_docs = inspect.isfunction(init) and bool(init.__doc__)
    if has_docs:
        yield f"```python\n{_signature(name, value)}\n```"
    yield from _described(inspect.getdoc(value) or "")
    if has_docs:
        yield from _described(inspect.getdoc(init) or "")
    for attribute, member in vars(value).items():
        if attribute.startswith("_"):
            continue
        if isinstance(member, classmethod) or inspect.isfunction(member):
            if attribute in _PRIVATE:
                continue
            yield f"#### {name}.{attribute}"
            yield f"```python\n{_signature(attribute, getattr(value, attribute))}\n```"
            yield from _described(inspect.getdoc(member) or "")
        elif isinstance(member, property) and attribute not in _PRIVATE:
            yield f"#### {name}.{attribute}"
            yield from _described(inspect.getdoc(member) or "")


#: What the modules of the API use of each other.
_PRIVATE = ("scenario", "unread")


def _signature(name: str, value: Any) -> str:
    """How it is called, a parameter per line if that is long."""
    signature = inspect.signature(value)
    if "self" in signature.parameters:
        signature = signature.replace(parameters=list(signature.parameters.values())[1:])
    flat = _QUOTED.sub(r"\1\2", f"{name}{signature}")
    if len(flat) <= 100:
        return flat
    arguments = [_QUOTED.sub(r"\1\2", str(each)) for each in signature.parameters.values()]
    first = next(
        (i for i, each in enumerate(signature.parameters.values()) if each.kind is each.KEYWORD_ONLY), None
    )
    if first is not None and not any(
        each.kind is each.VAR_POSITIONAL for each in signature.parameters.values()
    ):
        arguments.insert(first, "*")
    lines = "".join(f"    {each},\n" for each in arguments)
    returned = flat[flat.rindex(") ->") :] if " ->" in flat else ")"
    return f"{name}(\n{lines}{returned}"


def _described(docstring: str) -> Iterator[str]:
    """A docstring as Markdown: its text, then what it says of parameters, results and errors."""
    text, fields = docstring, []
    if found := _FIELD.search(docstring):
        text, rest = docstring[: found.start()], docstring[found.start() :]
        starts = [each.start() for each in _FIELD.finditer(rest)] + [len(rest)]
        fields = [rest[a:b] for a, b in pairwise(starts)]
    if text.strip():
        yield _plain(text.strip())
    if fields:
        yield "\n".join(_field(each) for each in fields)


def _field(written: str) -> str:
    found = _FIELD.match(written)
    assert found is not None
    kind, name = found.groups()
    text = _plain(" ".join(written[found.end() :].split()))
    head = {"param": f"`{name}`:", "returns": "Returns", "raises": f"Raises `{name}`:"}[kind]
    return f"- {head} {text}"


def _plain(text: str) -> str:
    return _ROLE.sub(r"`\1`", text).replace("``", "`")
