"""The tolerations that tolerate nothing because of a typing mistake: of claims for devices, of pods for nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from allocator.rules.standing import tolerates
from deviceselectors.spelling import MAX_KNOWN, MAX_WRONG
from resourceapi.objects import Object
from resourceapi.phrases import nearest, nearest_value
from resourceapi.records.taints import Taint

#: The API server gives every pod tolerations for these with the effect NoExecute (admission plugin DefaultTolerationSeconds).
_TOLERATED_BY_ALL = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class MisspeltToleration(NamedTuple):
    """What a toleration names of a taint.

    :param wrong: the key, the key with a value, or with an effect, that no taint has.
    :param meant: what some taint has.
    """

    wrong: str
    meant: str


def misspelt(
    tolerations: Iterable[Object], taints: Collection[Taint], in_the_way: Collection[str]
) -> Iterator[MisspeltToleration]:
    """The tolerations that were meant for a taint.

    :param taints: the different ones that there are.
    :param in_the_way: the keys of those that have to be tolerated: a value or effect of others may be right.
    """
    keys, compared = dict.fromkeys(each.key for each in taints), 0
    for toleration in tolerations if len(taints) <= MAX_KNOWN else ():
        key = toleration.get("key") or ""
        if key in _TOLERATED_BY_ALL and toleration.get("effect") == "NoExecute":
            continue
        if compared == MAX_WRONG:
            return
        there = [each for each in taints if each.key == key]
        if not there:
            compared += 1
            wrong, meant = key, nearest(key, keys)
        elif key not in in_the_way or any(tolerates(toleration, each) for each in there):
            continue
        else:
            compared += 1
            wrong, meant = _other(toleration, there)
        if meant:
            yield MisspeltToleration(wrong, meant)


def _other(toleration: Object, taints: Collection[Taint]) -> tuple[str, str]:
    """The wrong effect, or else the wrong value, of a toleration for none of the taints with its key."""
    key, value = toleration["key"], toleration.get("value") or ""
    for each in taints:
        if tolerates({**toleration, "effect": ""}, each):
            return f"{key}:{toleration['effect']}", f"{key}:{each.effect}"
    values = dict.fromkeys(each.value for each in taints)
    meant = nearest_value(value, values) if value else next(iter(values)) if len(values) == 1 else ""
    return f"{key}={value}" if value else f"{key} without a value", meant and f"{key}={meant}"
