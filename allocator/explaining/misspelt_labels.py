"""The labels of nodes that a pod misspells: what it requires of its node and no node has, where some have a similar one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from allocator.words import Words
from deviceselectors.spelling import MAX_KNOWN, MAX_WRONG
from resourceapi.objects import Object
from resourceapi.phrases import nearest, nearest_value
from resourceapi.records.nodes import Node

#: How many terms of a node affinity are looked at.
MAX_TERMS = 16
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class MisspeltLabel(NamedTuple):
    """A label that a pod requires of its node.

    :param place: where it does: nodeSelector or node affinity.
    :param wrong: the key, or `key=value`, that no node has.
    :param meant: what some node has.
    """

    place: str
    wrong: str
    meant: str

    @property
    def change(self) -> Words:
        """That it is written as it was meant."""
        return Words(
            f"with {self.place} {self.meant} instead of {self.wrong}",
            f"with another label instead of {self.wrong} in its {self.place}",
        )


def requiring(selector: Object) -> Object:
    """The `spec` of a pod that requires a node which a node selector selects."""
    return {"affinity": {"nodeAffinity": {_REQUIRED: selector}}}


class Labels:
    """The labels of nodes, for the pods that misspell them."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._known: dict[str, dict[str, None]] = {}
        self._compared = 0
        for node in nodes:
            for key, value in node.labels.items():
                self._known.setdefault(key, {})[value] = None

    def corrected(self, pod_spec: Object) -> tuple[Object, list[MisspeltLabel]]:
        """A pod's `spec` with the labels that were meant, and which these are."""
        found: list[MisspeltLabel] = []
        self._compared = 0
        changed = dict(pod_spec)
        if selector := pod_spec.get("nodeSelector"):
            entries = (self._entry("nodeSelector", key, (value,), found) for key, value in selector.items())
            changed["nodeSelector"] = {key: values[0] for key, values in entries}
        affinity = pod_spec.get("affinity") or {}
        on_nodes = affinity.get("nodeAffinity") or {}
        if required := on_nodes.get(_REQUIRED):
            terms = required.get("nodeSelectorTerms") or []
            terms = [*(self._term(each, found) for each in terms[:MAX_TERMS]), *terms[MAX_TERMS:]]
            on_nodes = {**on_nodes, _REQUIRED: {**required, "nodeSelectorTerms": terms}}
            changed["affinity"] = {**affinity, "nodeAffinity": on_nodes}
        return changed, found

    def _term(self, term: Object, found: list[MisspeltLabel]) -> Object:
        expressions = []
        for each in term.get("matchExpressions") or ():
            if each.get("operator") in ("In", "Exists"):
                key, values = self._entry("node affinity", each["key"], each.get("values") or (), found)
                each = {**each, "key": key, **({"values": list(values)} if values else {})}
            expressions.append(each)
        return {**term, "matchExpressions": expressions}

    def _entry(
        self, place: str, key: str, values: Sequence[str], found: list[MisspeltLabel]
    ) -> tuple[str, Sequence[str]]:
        """A key and its possible values, as they were meant; none for any value."""
        there = self._known.get(key)
        meant, right = key, values
        if there is None and len(self._known) <= MAX_KNOWN and self._may_compare():
            meant = nearest(key, self._known) or key
            there = self._known.get(meant)
        is_wrong = there and values and not any(each in there for each in values)
        if there and is_wrong and len(there) <= MAX_KNOWN and self._may_compare():
            only = next(iter(there)) if len(there) == 1 else ""
            value = nearest_value(values[0], there) or only
            right = (value, *values[1:]) if value else values
        if right != values:
            found.append(MisspeltLabel(place, f"{key}={values[0]}", f"{meant}={right[0]}"))
        elif meant != key:
            found.append(MisspeltLabel(place, key, meant))
        return meant, right

    def _may_compare(self) -> bool:
        """Whether one name more is compared with those that there are."""
        self._compared += 1
        return self._compared <= MAX_WRONG
