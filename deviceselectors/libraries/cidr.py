"""Kubernetes' library of networks in CIDR notation."""

from __future__ import annotations

from typing import Any

from deviceselectors.libraries import actual_costs, estimates, ip, max_sizes
from deviceselectors.libraries.actual_costs import plain_size, tenth
from deviceselectors.libraries.estimates import Argument
from deviceselectors.libraries.function import Estimate, Function, Overload
from deviceselectors.runtime.addresses import CIDR, IP, AddressError, parse_prefix
from deviceselectors.runtime.values import CelError
from deviceselectors.sizes import TRAVERSAL, Size, add, scale
from resourceapi.go_text import quote

_NETWORK_ERROR = "network address parse error during conversion from string: "


def parse(text: str) -> CIDR:
    """`cidr(text)`."""
    try:
        cidr = parse_prefix(text)
    except AddressError as error:
        raise CelError(f"{_NETWORK_ERROR}{_NETWORK_ERROR}{error}") from None
    if cidr.ip.is_mapped:
        raise CelError(f"{_NETWORK_ERROR}IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return cidr


def _is_cidr(text: str) -> bool:
    try:
        parse(text)
    except CelError:
        return False
    return True


def _contains_ip(cidr: CIDR, ip: IP) -> bool:
    if cidr.ip.bits != ip.bits:
        return False
    return (cidr.ip.number ^ ip.number) >> (ip.bits - cidr.prefix) == 0


def _contains_ip_text(cidr: CIDR, text: str) -> bool:
    try:
        address = ip.parse(text)
    except CelError:
        # cel-go loses the reason here
        raise CelError("no such overload") from None
    return _contains_ip(cidr, address)


def _contains_cidr(cidr: CIDR, other: CIDR) -> bool:
    return cidr.prefix <= other.prefix and _contains_ip(cidr, other.ip)


def _masked(cidr: CIDR) -> CIDR:
    shift = cidr.ip.bits - cidr.prefix
    return CIDR(IP(cidr.ip.number >> shift << shift, cidr.ip.bits), cidr.prefix)


# ---------------------------------------------------------------- costs

_CONTAINS_IP = scale(32, TRAVERSAL)
_CONTAINS_CIDR = scale(32, TRAVERSAL) + scale(16, TRAVERSAL) + 1


def _estimate_parsing(cost: int) -> Estimate:
    """A fixed cost, and that of reading the second argument."""

    def estimate(arguments: list[Argument]) -> tuple[int, Size | None]:
        return add(cost, scale(arguments[1].size[1], TRAVERSAL)), None

    return estimate


def _cost_of_containing_ip(cidr: Any, ip: Any) -> int:
    return tenth(2 * plain_size(cidr))


def _cost_of_containing_cidr(cidr: Any, other: Any) -> int:
    size = plain_size(cidr)
    return tenth(2 * size) + tenth(size) + 1


FUNCTIONS = (
    Function(
        "cidr",
        Overload("string_to_cidr string > CIDR", parse),
        estimate=estimates.reads(0),
        cost=actual_costs.reads_target(),
        result_size=max_sizes.opaque,
    ),
    Function(
        "isCIDR",
        Overload("is_cidr string > bool", _is_cidr),
        estimate=estimates.reads(0),
        cost=actual_costs.reads_target(),
    ),
    Function("string", Overload("cidr_to_string CIDR > string", str)),
    Function(
        "containsIP",
        Overload(
            ".cidr_contains_ip_string CIDR; string > bool",
            _contains_ip_text,
            estimate=_estimate_parsing(_CONTAINS_IP),
            cost=lambda cidr, ip: _cost_of_containing_ip(cidr, ip) + tenth(plain_size(ip)),
        ),
        Overload(".cidr_contains_ip_ip CIDR; IP > bool", _contains_ip),
        estimate=lambda arguments: (_CONTAINS_IP, None),
        cost=_cost_of_containing_ip,
    ),
    Function(
        "containsCIDR",
        Overload(
            ".cidr_contains_cidr_string CIDR; string > bool",
            lambda cidr, text: _contains_cidr(cidr, parse(text)),
            estimate=_estimate_parsing(_CONTAINS_CIDR),
            cost=lambda cidr, other: _cost_of_containing_cidr(cidr, other) + tenth(plain_size(other)),
        ),
        Overload(".cidr_contains_cidr CIDR; CIDR > bool", _contains_cidr),
        estimate=lambda arguments: (_CONTAINS_CIDR, None),
        cost=_cost_of_containing_cidr,
    ),
    Function("ip", Overload(".cidr_ip CIDR > IP", lambda cidr: cidr.ip)),
    Function("prefixLength", Overload(".cidr_prefix_length CIDR > int", lambda cidr: cidr.prefix)),
    Function("masked", Overload(".cidr_masked CIDR > CIDR", _masked), result_size=max_sizes.opaque),
)
