"""Pools of devices: their slices, which pool generation counts, and whether it is complete.

A driver that changes a pool publishes slices of a new pool generation, each of which says how many there are (KEP-4381). So

- a slice is *obsolete* if its pool has one of a newer generation,
- a generation is *complete* if no slice of it says that there are more than those that are known,
- a pool is *settled* if it has no obsolete slices, and each of the others says how many there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from resourceapi.manifests import mapping, name_of, text
from resourceapi.objects import Object

#: The first release (minor number) whose kube-scheduler uses no device of a generation that is not complete. Before, only
#: requests for all devices fail with an error.
COMPLETE_SINCE = 35


class PoolId(NamedTuple):
    """A pool: drivers name their pools as they like."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class DeviceId(NamedTuple):
    """A device in the cluster; pool and device are empty for one that is in no slice."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return "/".join(filter(None, self))


class SliceRecord:
    """What a ResourceSlice of any version says of its pool. Those who need more of slices add it."""

    def __init__(self, slice: Object) -> None:
        """`slice`: with kind and version, or in the shape of v1, also with mistakes."""
        spec = mapping(slice, "spec")
        pool = mapping(spec, "pool")
        self.name = name_of(slice)
        self.pool = PoolId(text(spec, "driver"), text(pool, "name"))
        self.generation = _number(pool, "generation")
        #: how many slices its generation has
        self.count_in_pool = _number(pool, "resourceSliceCount")
        #: empty if it is not for a single node
        self.node_name = text(spec, "nodeName")


AnySlice = TypeVar("AnySlice", bound=SliceRecord)


def _number(value: Object, key: str) -> int:
    found = value.get(key)
    return found if type(found) is int else 0


def newest(slices: list[AnySlice]) -> list[AnySlice]:
    """Those of a pool's slices that are of the newest generation among them; the others do not count."""
    generations = {each.generation for each in slices}
    if len(generations) < 2:
        return slices
    generation = max(generations)
    return [each for each in slices if each.generation == generation]


def by_pool(slices: Iterable[AnySlice]) -> dict[PoolId, list[AnySlice]]:
    """Slices by their pools, in order."""
    found: dict[PoolId, list[AnySlice]] = {}
    for slice in slices:
        found.setdefault(slice.pool, []).append(slice)
    return found


class Generation(Generic[AnySlice]):
    """The slices of one generation of a pool."""

    __slots__ = ("is_complete", "slices")

    def __init__(self, slices: tuple[AnySlice, ...] = ()) -> None:
        self.slices = slices
        #: whether all slices are there
        self.is_complete = 0 < max([each.count_in_pool for each in slices], default=0) <= len(slices)


class ResourcePool(Generic[AnySlice]):
    """All slices of a pool, of any generation and for any node, by name.

    Who changes ``by_name`` calls :meth:`changed`. Everything else is found out when it is asked for, once for all slices.
    """

    __slots__ = ("_generations", "by_name", "found_out")

    def __init__(self) -> None:
        self.by_name: dict[str, AnySlice] = {}
        #: what others have found out about the slices; gone when they change
        self.found_out: dict[object, Any] = {}
        self._generations: dict[int, Generation[AnySlice]] | None = None

    def __iter__(self) -> Iterator[AnySlice]:
        return iter(self.by_name.values())

    def changed(self) -> None:
        """What has been found out does not hold any more."""
        self._generations = None
        self.found_out = {}

    @property
    def generations(self) -> dict[int, Generation[AnySlice]]:
        """The generations of which there are slices, by number, the newest last."""
        if self._generations is None:
            found: dict[int, list[AnySlice]] = {}
            for slice in self:
                found.setdefault(slice.generation, []).append(slice)
            self._generations = {number: Generation(tuple(found[number])) for number in sorted(found)}
        return self._generations

    def generation(self, number: int) -> Generation[AnySlice]:
        """One generation, an empty one if there is no slice of it."""
        return self.generations.get(number) or Generation()

    @property
    def newest(self) -> int:
        """The generation that counts."""
        return next(reversed(self.generations), 0)

    @property
    def is_settled(self) -> bool:
        """Whether it has all its slices and no others; otherwise it is being updated."""
        count = len(self.by_name)
        return all(each.count_in_pool == count for each in self)
