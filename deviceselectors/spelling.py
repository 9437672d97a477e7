"""Names and texts that no device has, and the similar ones that devices have instead."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from deviceselectors.libraries.semver import Semver
from deviceselectors.lookups import Comparison, Key, Lookup
from deviceselectors.unparsing import quoted
from resourceapi.phrases import nearest, nearest_value

if TYPE_CHECKING:
    from deviceselectors.runtime.device import Device

#: Of more different names or texts than these no similar one is looked for.
MAX_KNOWN = 1_000
#: How many names that do not exist are compared with those that do, of each kind that a pod and its claims may write by the thousand.
MAX_WRONG = 32
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
    """The different values that attributes, and the driver, are on devices."""

    def __init__(
        self,
        devices: Sequence[Device],
        published: Sequence[Device] = (),
        check_time: Callable[[], None] = lambda: None,
    ) -> None:
        """Look at no device yet.

        :param published: the devices without what patches change: a value that one of these has is not misspelt.
        :param check_time: is called again and again, and raises when the time is over.
        """
        self._devices = devices
        self._published = published
        self._check_time = check_time
        self._known: dict[Key | None, dict[str, str]] = {}

    def misspelt(self, compared: Iterable[Comparison]) -> Iterator[Misspelt]:
        """The comparisons with a value that no device has: a text that is similar to one, or a value of another type."""
        for _, each in zip(range(MAX_COMPARISONS), compared, strict=False):
            known, wrong = self._of(each), _literal(each.literal.value)
            if wrong in known:
                continue
            meant = next((literal for literal, text in known.items() if text == each.text), "")
            if not meant and isinstance(each.literal.value, str):
                texts = {text: literal for literal, text in known.items() if literal == quoted(text)}
                meant = texts.get(nearest_value(each.text, texts), "")
            if meant and wrong not in _values_on(self._published, each):
                yield Misspelt(each, wrong, meant)

    def _of(self, compared: Comparison) -> dict[str, str]:
        """The values; none if they are too many."""
        self._check_time()
        key = compared.lookup.key if compared.lookup is not None else None
        found = self._known.get(key)
        if found is None:
            values = _values_on(self._devices, compared)
            found = self._known[key] = values if len(values) <= MAX_KNOWN else {}
        return found


class Misspelt(NamedTuple):
    """A comparison with a literal that equals no device's value.

    :param wrong: the literal.
    :param meant: that of a similar value which some device has.
    """

    compared: Comparison
    wrong: str
    meant: str


def _values_on(devices: Iterable[Device], compared: Comparison) -> dict[str, str]:
    """The different values of an attribute, or the driver, as literals and as texts."""
    lookup = compared.lookup
    if lookup is None:
        return {quoted(each.driver): each.driver for each in devices}
    entries = (device.attributes.get(lookup.domain) for device in devices)
    values = dict.fromkeys(
        (type(found[lookup.name]), found[lookup.name])
        for found in entries
        if found is not None and isinstance(found.get(lookup.name), (str, int, Semver))
    )
    return {
        _literal(value): str(value).lower() if isinstance(value, bool) else str(value) for _, value in values
    }


def _literal(value: object) -> str:
    """A value of an attribute as CEL writes it."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return str(value).lower()
    return f"semver({quoted(str(value))})" if isinstance(value, Semver) else str(value)
