"""What is probably misspelt where a pod fits nowhere: a name or value that nothing has, where something has a similar one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from allocator.explaining.absent_names import AbsentName
from allocator.explaining.finder import Finder
from allocator.explaining.misspelt_labels import Labels, MisspeltLabel, requiring
from allocator.explaining.misspelt_tolerations import MisspeltToleration, misspelt
from deviceselectors.lookups import comparisons, lookups
from deviceselectors.spelling import (
    MAX_COMPARISONS,
    MAX_KNOWN,
    MAX_WRONG,
    Texts,
    names_on,
    similar_name,
)
from resourceapi.node_selection import selects
from resourceapi.phrases import nearest

if TYPE_CHECKING:
    from allocator.demand import Alternative
    from allocator.device_shapes import Consumption
    from allocator.devices import Slice
    from deviceselectors import ast
    from deviceselectors.lookups import Comparison
    from deviceselectors.runtime.device import Device as PreparedDevice
    from resourceapi.objects import Object
    from resourceapi.records.pools import PoolId

#: Slices for no node that are looked at.
MAX_SLICES = 16


class Mistake(NamedTuple):
    """What is named but not there, and what has a similar name.

    :param text: what is not there, in a sentence.
    :param meant: what is there instead.
    :param for_tenants: whether tenants may read it: `meant` is the name of a class, attribute or capacity. Values, taints and
        counters of devices, and labels of nodes, are for readers of these.
    :param refuses: whether kube-scheduler refuses the pod for it before it looks at nodes.
    """

    text: str
    meant: str
    for_tenants: bool = False
    refuses: bool = False

    def __str__(self) -> str:
        return f"{self.text}; did you mean {self.meant}?"


def find(
    finder: Finder,
    absent_names: Iterable[AbsentName],
    unmatched: Iterable[Alternative],
    unserved: Iterable[Alternative],
) -> Iterator[Mistake]:
    """The mistakes in claims and slices, the most certain first.

    :param finder: its views are of the nodes whose devices are looked at.
    :param unmatched: what no device matches.
    :param unserved: what devices match, but none is available for.
    :raises OutOfTime: if the time of the explanation is over.
    """
    finder.trials.time_limit.check()
    for absent in absent_names:
        yield from _absent(absent.kind, absent.qualified, absent.meant)
    if not finder.views:
        return
    yield from _counter_sets(finder)
    outcomes = next(iter(finder.views.values())).outcomes
    unmatched = list(unmatched)
    for alternative in unmatched:
        for selector in alternative.request_selectors:
            yield from _values(outcomes.comparisons(selector.expression), finder.texts)
    if unmatched:
        yield from _slices(finder)
    for alternative in unserved:
        yield from _capacities(alternative, finder)
        yield from _tolerations(finder, alternative)


def in_classes(named: Iterable[str], known: Iterable[str]) -> Iterator[Mistake]:
    """The classes that requests name but that do not exist."""
    known = list(known)
    for name in islice(named, MAX_WRONG):
        if meant := nearest(name, known):
            yield Mistake(f"there is no DeviceClass {name}", meant, for_tenants=True, refuses=True)


def in_labels(labels: Iterable[MisspeltLabel]) -> Iterator[Mistake]:
    """The labels that a pod requires of its node and that no node has."""
    for each in labels:
        yield Mistake(f"no node has the label {each.wrong}", each.meant)


def _mistake(text: str, meant: str, *, for_tenants: bool = False) -> Iterator[Mistake]:
    if meant:
        yield Mistake(text, meant, for_tenants)


def _counter_sets(finder: Finder) -> Iterator[Mistake]:
    """Counter sets, and counters in them, that devices draw from and that their pool does not have; the first of each pool."""
    invalid = dict.fromkeys(pool.id for view in finder.views.values() for pool in view.pools if pool.invalid)
    for pool in invalid:
        slices = finder.trials.snapshot.inventory.of_pool(pool)
        known = {name: counters for each in slices for name, counters in each.counter_sets}
        drawn = (one for each in slices for device in each.devices for one in device.consumes)
        yield from islice(chain.from_iterable(_absent_counters(pool, each, known) for each in drawn), 1)


def _absent_counters(
    pool: PoolId, drawn: Consumption, known: Mapping[str, Collection[str]]
) -> Iterator[Mistake]:
    name = drawn.counter_set
    counters = known.get(name)
    if counters is None:
        if len(known) <= MAX_KNOWN:
            yield from _mistake(f"pool {pool} has no counter set {name}", nearest(name, known))
        return
    for each in drawn.counters if len(counters) <= MAX_KNOWN else ():
        if each not in counters:
            yield from _mistake(
                f"counter set {name} of pool {pool} has no counter {each}", nearest(each, counters)
            )


def in_selector(
    root: ast.Node, devices: Sequence[PreparedDevice], published: Sequence[PreparedDevice]
) -> Iterator[Mistake]:
    """What a selector names or compares with that none of the devices has.

    :param published: the devices without what patches change, if any do.
    """
    for lookup in lookups(root)[:MAX_COMPARISONS]:
        names = names_on(devices, lookup)
        if lookup.qualified not in names and len(names) <= MAX_KNOWN:
            yield from _absent(lookup.noun, lookup.qualified, similar_name(lookup.domain, lookup.name, names))
    yield from _values(comparisons(root), Texts(devices, published))


def _absent(noun: str, qualified: str, meant: str) -> Iterator[Mistake]:
    yield from _mistake(f"no device has the {noun} {qualified}", meant, for_tenants=True)


def _values(compared: Iterable[Comparison], texts: Texts) -> Iterator[Mistake]:
    """Values that selectors compare with attributes or the driver, and that no device has."""
    for each in texts.misspelt(compared):
        yield Mistake(f"no device has {each.compared.name} {each.wrong}", each.meant)


def _capacities(alternative: Alternative, finder: Finder) -> Iterator[Mistake]:
    """Capacities that a request asks for and that no device has."""
    for name in alternative.capacity:
        yield from _absent("capacity", name, finder.meant_capacity(name))


def _tolerations(finder: Finder, alternative: Alternative) -> Iterator[Mistake]:
    """What a request tolerates and no device has, of taints that all devices which match have."""
    views = finder.views.values()
    taints = dict.fromkeys(taint for view in views for device in view.devices() for taint in device.taints)
    if taints and alternative.tolerations:
        matching = [
            {each.key for each in device.taints}
            for view in views
            for device in view.steps(alternative).selected
        ]
        in_the_way = set.intersection(*matching) if matching else set()
        yield from in_tolerations("device", misspelt(alternative.tolerations, taints, in_the_way))


def in_tolerations(noun: str, tolerations: Iterable[MisspeltToleration]) -> Iterator[Mistake]:
    """The taints that are tolerated and that no device, or no node, has."""
    for each in tolerations:
        yield Mistake(f"no {noun} has the taint {each.wrong}", each.meant)


def _slices(finder: Finder) -> Iterator[Mistake]:
    """Slices that are for no node at all."""
    nodes = finder.trials.snapshot.nodes
    selectors: dict[str, tuple[Slice, Object]] = {}
    served: dict[str, set[str]] = {}
    lost: list[Slice] = []
    for each in finder.trials.snapshot.inventory:
        if each.node_name in nodes:
            served.setdefault(each.pool.driver, set()).add(each.node_name)
        elif each.node_name:
            lost.append(each)
        elif selector := each.spec.get("nodeSelector"):
            selectors.setdefault(repr(selector), (each, selector))
    for each in lost[:MAX_SLICES] if len(nodes) <= MAX_KNOWN else ():
        meant = nearest(each.node_name, nodes.keys() - served.get(each.pool.driver, set()))
        text = f"ResourceSlice {each.name} is for the node {each.node_name}, which does not exist"
        yield from _mistake(text, meant)
    if not selectors:
        return
    labels = Labels(nodes.values())
    for each, selector in list(selectors.values())[:MAX_SLICES]:
        if not any(selects(selector, node) for node in nodes.values()):
            for label in labels.corrected(requiring(selector))[1]:
                text = f"ResourceSlice {each.name} is for no node: none has the label {label.wrong}"
                yield Mistake(text, label.meant)
