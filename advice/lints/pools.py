"""The pools of devices as ResourceSlices in files describe them, for lints that compare slices."""

from __future__ import annotations

from typing import Any

from resourceapi.manifests import entries, mapping, text
from resourceapi.records.pools import PoolId, ResourcePool, SliceRecord

MOST_NODES = 3
"""How many other nodes a warning about one of them names."""

Counters = dict[str, dict[str, set[str]]]
"""Of each counter set the values of each counter."""


class FileSlice(SliceRecord):
    """What a slice in a file says of its pool."""

    __slots__ = ("counters", "file")

    def __init__(self, manifest: dict[str, Any], file: str) -> None:
        super().__init__(manifest)
        self.file = file
        self.counters: Counters = {}
        for counter_set in entries(mapping(manifest, "spec"), "sharedCounters"):
            amounts = mapping(counter_set, "counters").items()
            values = {counter: {str(mapping(amount).get("value"))} for counter, amount in amounts}
            _add(self.counters, {text(counter_set, "name"): values})


class Nodes:
    """The nodes that the slices of a pool are on."""

    def __init__(self, slices: ResourcePool[FileSlice]) -> None:
        self.by_file: dict[str, set[str]] = {}
        for each in slices:
            if each.node_name:
                self.by_file.setdefault(each.file, set()).add(each.node_name)
        self.all = set().union(*self.by_file.values())
        #: some of these, the first in the order of their names
        self.first = sorted(self.all)[: MOST_NODES + 1]


class FilePool(ResourcePool[FileSlice]):
    """The slices of a pool in files; what lints ask for each of thousands is found out once."""

    __slots__ = ()

    def add(self, slice: FileSlice) -> None:
        """Note a slice.

        Of several with the same name in different files only the first counts: the others describe the same slice. In
        one file they are a mistake, and both are meant.
        """
        same = self.by_name.get(slice.name)
        if same is not None and same.file != slice.file:
            _add(same.counters, slice.counters)
        else:
            key = slice.name if same is None and slice.name else f"{slice.file}:{len(self.by_name)}"
            self.by_name[key] = slice
        self.changed()

    @property
    def nodes(self) -> Nodes:
        """The nodes that slices are on."""
        found: Nodes | None = self.found_out.get("nodes")
        if found is None:
            found = self.found_out["nodes"] = Nodes(self)
        return found

    def counters(self, generation: int) -> Counters:
        """The counters of a generation."""
        found: Counters | None = self.found_out.get(generation)
        if found is None:
            found = self.found_out[generation] = {}
            for each in self.generation(generation).slices:
                _add(found, each.counters)
        return found

    def in_file(self, file: str, generation: int) -> int:
        """How many slices of different names a file has of a generation."""
        found: dict[str, set[str]] | None = self.found_out.get(("files", generation))
        if found is None:
            found = self.found_out["files", generation] = {}
            for key, each in self.by_name.items():
                if each.generation == generation:
                    found.setdefault(each.file, set()).add(each.name or key)
        return len(found.get(file, ()))


class Pools:
    """The pools, each by its driver and name."""

    def __init__(self) -> None:
        self._pools: dict[PoolId, FilePool] = {}

    def learn(self, manifest: dict[str, Any], file: str) -> None:
        """Note a ResourceSlice."""
        self._add(FileSlice(manifest, file))

    def _add(self, slice: FileSlice) -> None:
        if all(slice.pool):
            self._pools.setdefault(slice.pool, FilePool()).add(slice)

    def update(self, other: Pools) -> None:
        """Note what others have noted after these, unless these have read the same file: an inventory may be the input."""
        for id, pool in other._pools.items():
            read = {each.file for each in self._pools.get(id, ())}
            for slice in pool:
                if slice.file not in read:
                    self._add(slice)

    def of(self, slice: SliceRecord) -> FilePool | None:
        """The pool of a slice; None if it names none, or has not been noted."""
        return self._pools.get(slice.pool)


def _add(counters: Counters, more: Counters) -> None:
    for name, each in more.items():
        known = counters.setdefault(name, {})
        for counter, values in each.items():
            known.setdefault(counter, set()).update(values)
