"""Names and texts that no device has, and the similar ones that devices have instead."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from deviceselectors.lookups import Comparison, Key, Lookup
from resourceapi.phrases import nearest, nearest_value

if TYPE_CHECKING:
    from deviceselectors.runtime.device import Device

#: Of more different names or texts than these no similar one is looked for.
MAX_KNOWN = 1_000
#: How many look-ups and comparisons of an expression are looked at.
MAX_COMPARISONS = 8


def similar_name(domain: str, name: str, known: Collection[str]) -> str:
    """The similar name that devices have, with its domain, first in the same domain; empty if there is none.

    :param known: the names that devices have, with their domains.
    """
    qualified, there = f"{domain}/{name}", f"{domain}/"
    for names in ([each for each in known if each.startswith(there)], known):
        by_bare = {each.rpartition("/")[2]: each for each in names}
        found = by_bare.get(name) or by_bare.get(nearest(name, by_bare), "")
        if found:
            return found
    longer = [each for each in known if each.startswith(qualified)]
    return longer[0] if len(longer) == 1 and len(name) > 2 else nearest(qualified, known)


def similar_capacity(name: str, known: Collection[str]) -> str:
    """The capacity that a request means by a name that no device has; empty if there is none.

    :param known: the names that devices have, those in the domain of their driver without it.
    """
    bare = name.rpartition("/")[2]
    return bare if bare in known else nearest(name, known) or nearest(bare, known)


def names_on(devices: Iterable[Device], lookup: Lookup) -> dict[str, None]:
    """The names of all attributes or capacities that devices have, with their domains, of the kind that is looked up."""
    return {
        f"{domain}/{name}": None
        for each in devices
        for domain, entries in lookup.domains_of(each).items()
        for name in entries
    }


class Texts:
    """The different texts that attributes, and the driver, are on devices."""

    def __init__(
        self,
        devices: Sequence[Device],
        published: Sequence[Device] = (),
        check_time: Callable[[], None] = lambda: None,
    ) -> None:
        """Look at no device yet.

        :param published: the devices without what patches change: a text that one of these has is not misspelt.
        :param check_time: is called again and again, and raises when the time is over.
        """
        self._devices = devices
        self._published = published
        self._check_time = check_time
        self._known: dict[Key | None, dict[str, None]] = {}

    def misspelt(self, compared: Iterable[Comparison]) -> Iterator[tuple[Comparison, str]]:
        """The comparisons with a text that no device has, each with the similar text that some have."""
        for _, each in zip(range(MAX_COMPARISONS), compared, strict=False):
            known = self._of(each)
            if each.text in known or not (meant := nearest_value(each.text, known)):
                continue
            if each.text not in each.values_on(self._published):
                yield each, meant

    def _of(self, compared: Comparison) -> dict[str, None]:
        """The texts; none if they are too many."""
        self._check_time()
        key = compared.lookup.key if compared.lookup is not None else None
        found = self._known.get(key)
        if found is None:
            texts = compared.values_on(self._devices)
            found = self._known[key] = texts if len(texts) <= MAX_KNOWN else {}
        return found
