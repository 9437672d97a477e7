"""The pools of devices as ResourceSlices describe them, for lints that compare slices."""

from __future__ import annotations

from bisect import insort
from typing import Any

from resourceapi.manifests import entries, mapping, name_of, text

MOST_NODES = 3
"""How many other nodes a warning about one of them names."""

PoolId = tuple[str, str]
"""Driver and name."""


class Slice:
    """What a slice says of its pool: how many slices it has. ``node`` is empty for one that is not on a single node."""

    __slots__ = ("expected", "file", "generation", "name", "node")

    def __init__(self, name: str, file: str, node: str, generation: int, expected: int) -> None:
        self.name = name
        self.file = file
        self.node = node
        self.generation = generation
        self.expected = expected


class Generation:
    """A pool generation: its slices, and the counters in them.

    :ivar by_file: how many slices of different names each file has.
    :ivar expected: the most slices that one of them says there are.
    :ivar counters: of each counter set the values of each counter.
    """

    __slots__ = ("by_file", "counters", "expected", "slices")

    def __init__(self) -> None:
        self.slices = 0
        self.by_file: dict[str, int] = {}
        self.expected = 0
        self.counters: dict[str, dict[str, set[str]]] = {}

    @property
    def complete(self) -> bool:
        """Whether all slices are there."""
        return self.slices >= self.expected > 0


class Pool:
    """The slices of a pool.

    Everything that is asked for each slice is kept up to date, as a pool may have thousands.

    :ivar newest: the generation that counts.
    :ivar nodes: the nodes that slices are on.
    :ivar first_nodes: some of these, the first in the order of their names.
    :ivar nodes_in: of each file the nodes that its slices are on.
    """

    __slots__ = ("_files", "first_nodes", "generations", "newest", "nodes", "nodes_in", "slices")

    def __init__(self) -> None:
        self.slices: list[Slice] = []
        self._files: dict[str, str] = {}  # of each name the file that has the slice
        self.generations: dict[int, Generation] = {}
        self.newest = 0
        self.nodes: set[str] = set()
        self.first_nodes: list[str] = []
        self.nodes_in: dict[str, set[str]] = {}

    def generation(self, number: int) -> Generation:
        """One generation, an empty one if there is no slice of it yet."""
        self.newest = max(self.newest, number) if self.generations else number
        return self.generations.setdefault(number, Generation())

    def add(self, slice: Slice) -> None:
        """Note a slice.

        Of several with the same name in different files only the first counts: the others describe the same slice. In
        one file they are a mistake, and both are meant.
        """
        is_first = slice.name not in self._files
        if self._files.setdefault(slice.name, slice.file) != slice.file:
            return
        self.slices.append(slice)
        generation = self.generation(slice.generation)
        generation.slices += 1
        if is_first:
            generation.by_file[slice.file] = generation.by_file.get(slice.file, 0) + 1
        generation.expected = max(generation.expected, slice.expected)
        if slice.node:
            self.nodes_in.setdefault(slice.file, set()).add(slice.node)
            if slice.node not in self.nodes:
                self.nodes.add(slice.node)
                insort(self.first_nodes, slice.node)
                del self.first_nodes[MOST_NODES + 1 :]

    def add_counter(self, generation: int, counter_set: str, counter: str, value: str) -> None:
        """Note the value of a counter."""
        counters = self.generation(generation).counters.setdefault(counter_set, {})
        counters.setdefault(counter, set()).add(value)


class Pools:
    """The pools, each by its driver and name."""

    __slots__ = ("_pools",)

    def __init__(self) -> None:
        self._pools: dict[PoolId, Pool] = {}

    def learn(self, manifest: dict[str, Any], file: str) -> None:
        """Note a ResourceSlice."""
        id, spec = pool_id(manifest), mapping(manifest, "spec")
        if id is None:
            return
        pool, generation = self._pools.setdefault(id, Pool()), generation_of(manifest)
        expected = mapping(spec, "pool").get("resourceSliceCount")
        name = name_of(manifest) or f"{file}:{len(pool.slices)}"
        if type(expected) is not int:
            expected = 0
        pool.add(Slice(name, file, text(spec, "nodeName"), generation, expected))
        for counter_set in entries(spec, "sharedCounters"):
            name = text(counter_set, "name")
            pool.generation(generation).counters.setdefault(name, {})
            for counter, amount in mapping(counter_set, "counters").items():
                pool.add_counter(generation, name, counter, str(mapping(amount).get("value")))

    def update(self, other: Pools) -> None:
        """Note what others have noted after these."""
        for id, later in other._pools.items():
            pool = self._pools.setdefault(id, Pool())
            for slice in later.slices:
                pool.add(slice)
            for number, generation in later.generations.items():
                for name, counters in generation.counters.items():
                    pool.generation(number).counters.setdefault(name, {})
                    for counter, values in counters.items():
                        for value in values:
                            pool.add_counter(number, name, counter, value)

    def of(self, manifest: dict[str, Any]) -> Pool | None:
        """The pool of a slice; None if it names none, or has not been noted."""
        id = pool_id(manifest)
        return None if id is None else self._pools.get(id)


def pool_id(manifest: Any) -> PoolId | None:
    """Driver and pool of a slice."""
    spec = mapping(manifest, "spec")
    driver, name = text(spec, "driver"), text(mapping(spec, "pool"), "name")
    return (driver, name) if driver and name else None


def generation_of(manifest: Any) -> int:
    """The pool generation that a slice belongs to."""
    generation = mapping(manifest, "spec", "pool").get("generation")
    return generation if isinstance(generation, int) else 0
