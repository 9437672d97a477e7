"""CC001: an alternative that can never be chosen (KEP-4816: alternatives are tried in their order).

On every node, devices that satisfy the later alternative also satisfy the earlier one, which the scheduler takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from advice.lints.table import UNREACHABLE, Warning
from resourceapi.limits import SUBREQUESTS
from resourceapi.manifests import claim_devices, entries, mapping, text
from resourceapi.quantity import QuantityError, parse


def check(manifest: dict[str, Any]) -> Iterator[Warning]:
    """Warn about every alternative of a claim or template that an earlier one makes useless."""
    path, devices = claim_devices(manifest)
    constraints = entries(devices, "constraints")
    for index, request in enumerate(entries(devices, "requests")):
        alternatives = entries(request, "firstAvailable")[:SUBREQUESTS]
        main = text(request, "name")
        selectors = [_expressions(alternative) for alternative in alternatives]
        for later in range(1, len(alternatives)):
            for earlier in range(later):
                if selectors[earlier] <= selectors[later] and _requires_no_more(
                    alternatives[earlier], alternatives[later], main, constraints
                ):
                    yield _warning(
                        (*path, "requests", index, "firstAvailable", later), alternatives, earlier, later
                    )
                    break


def _warning(path: tuple[str | int, ...], alternatives: list[Any], earlier: int, later: int) -> Warning:
    first, second = text(alternatives[earlier], "name"), text(alternatives[later], "name")
    return Warning(
        UNREACHABLE.code,
        path,
        f'alternative "{second}" can never be chosen: "{first}" comes before it and requires no more',
        "put the more demanding alternative first, or remove the later one",
    )


def _requires_no_more(first: Any, second: Any, main: str, constraints: list[Any]) -> bool:
    """Whether the first alternative is satisfied wherever the second is, apart from selectors."""
    if not isinstance(first, dict) or not isinstance(second, dict):
        return False
    return (
        text(first, "deviceClassName") == text(second, "deviceClassName") != ""
        and _counts_no_more(first, second)
        and all(toleration in entries(first, "tolerations") for toleration in entries(second, "tolerations"))
        and _requests_no_more_capacity(
            mapping(first, "capacity", "requests"), mapping(second, "capacity", "requests")
        )
        and entries(first, "derivedAttributes") == entries(second, "derivedAttributes")
        and _constrained_no_more(first, second, main, constraints)
    )


def _expressions(subrequest: Any) -> set[str]:
    """The selectors, with white space normalized."""
    return {
        " ".join(text(mapping(selector, "cel"), "expression").split())
        for selector in entries(subrequest, "selectors")
    }


def _counts_no_more(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """`All` needs at least one device, so it requires no less than a count of one."""
    modes = [subrequest.get("allocationMode") or "ExactCount" for subrequest in (first, second)]
    counts = [1 if (count := subrequest.get("count")) is None else count for subrequest in (first, second)]
    if modes == ["ExactCount", "ExactCount"]:
        return all(isinstance(count, int) for count in counts) and counts[0] <= counts[1]
    if modes == ["ExactCount", "All"]:
        return bool(counts[0] == 1)
    return modes == ["All", "All"]


def _requests_no_more_capacity(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """An amount that is not requested depends on the device's policy, so the same capacities must be named."""
    if first.keys() != second.keys():
        return False
    try:
        return all(parse(str(first[name])).cmp(parse(str(second[name]))) <= 0 for name in first)
    except QuantityError:
        return False


def _constrained_no_more(
    first: dict[str, Any], second: dict[str, Any], main: str, constraints: list[Any]
) -> bool:
    """Every constraint on the first holds for the second as well."""
    mine, others = f"{main}/{text(first, 'name')}", f"{main}/{text(second, 'name')}"
    for constraint in constraints:
        requests = entries(constraint, "requests")
        if mine in requests and main not in requests and others not in requests:
            return False
    return True
