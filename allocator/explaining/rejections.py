"""Why devices are excluded: those with the same causes together, with the values that they have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, MutableMapping

from allocator.explaining.holders import Holder, held_by
from allocator.rules.rule import Cause, Objection
from resourceapi.phrases import number

#: Different values that are named.
MAX_VALUES = 4


class Rejection:
    """Devices that are excluded for the same causes.

    :param causes: those of the first device.
    :param devices: how many devices they are.
    :param example: the first of them.
    """

    __slots__ = ("causes", "claims", "devices", "example", "values")

    def __init__(self, causes: tuple[Cause, ...], devices: int = 0, example: str = "") -> None:
        self.causes = causes
        self.devices = devices
        self.example = example
        #: the claims that hold what is missing, each once
        self.claims: dict[str, None] = {}
        #: for each value that was seen (cause by cause), how many devices have what
        self.values: list[Counter[str]] = [Counter() for cause in causes for _ in cause.seen]

    @property
    def key(self) -> object:
        """The same for devices that are excluded for the same causes, whatever their values and holders are."""
        return _key(self.causes, bool(self.claims))

    @property
    def reason(self) -> str:
        """The causes in words, with the values."""
        values = iter(self.values)
        return ", and ".join(
            _worded(cause, [(what, _listed(next(values))) for what, _ in cause.seen]) for cause in self.causes
        )

    def said(self, users: Mapping[str, Holder]) -> str:
        """The causes in words, and who holds what is missing."""
        held = f"held by {held_by(list(self.claims), users)}" if self.claims else ""
        example = f" (such as {self.example})" if self.reason.startswith("fails") and self.example else ""
        return "; ".join(part for part in (self.reason, held) if part) + example

    @property
    def varies(self) -> bool:
        """Whether it names values or holders that are not the same for all devices."""
        return len(self.claims) > 1 or any(len(each) > 1 for each in self.values)

    def note(self, causes: Iterable[Cause], claims: Iterable[str]) -> None:
        """Count one device more."""
        self.devices += 1
        self.claims.update(dict.fromkeys(claims))
        seen = (value for cause in causes for _, value in cause.seen)
        for counter, value in zip(self.values, seen, strict=True):
            counter[value] += 1

    def with_those_of(self, others: Iterable[Rejection]) -> Rejection:
        """The same number of devices with the values and holders of others on equivalent nodes as well."""
        merged = Rejection(self.causes, self.devices, self.example)
        for each in (self, *others):
            merged.claims.update(each.claims)
            for counter, more in zip(merged.values, each.values, strict=True):
                counter.update(more)
        return merged


def note(rejected: MutableMapping[object, Rejection], objection: Objection, device: str) -> None:
    """Add a device to the rejections, by their keys."""
    key = _key(objection.causes, bool(objection.claims))
    found = rejected.get(key)
    if found is None:
        found = rejected[key] = Rejection(objection.causes, 0, device)
    found.note(objection.causes, objection.claims)


def _key(causes: Iterable[Cause], held: bool) -> object:
    return held, tuple((cause.text, cause.wanted, *(what for what, _ in cause.seen)) for cause in causes)


def _worded(cause: Cause, seen: list[tuple[str, str]]) -> str:
    values = ", ".join(f"{what} is {listed}" if what else listed for what, listed in seen)
    wanted = f"; wanted {cause.wanted}" if cause.wanted else ""
    return ": ".join(part for part in (cause.text, values) if part) + wanted


def _listed(values: Counter[str]) -> str:
    """`"l4" on 8 devices, "a100" on 2`; without numbers if every device has another value."""
    shown = values.most_common(MAX_VALUES)
    if len(values) == 1:
        return shown[0][0]
    rest = values.total() - sum(count for _, count in shown)
    if values.total() == len(values):
        return ", ".join(value for value, _ in shown) + (f" and {number(rest, 'other')}" if rest else "")
    first, *others = [(value, f"{count:,}") for value, count in shown]
    listed = [
        f"{first[0]} on {number(shown[0][1], 'device')}",
        *(f"{value} on {count}" for value, count in others),
    ]
    return ", ".join(listed) + (f", others on {rest:,}" if rest else "")
