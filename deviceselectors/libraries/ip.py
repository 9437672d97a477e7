"""Kubernetes' library of IP addresses."""

from __future__ import annotations

from deviceselectors.libraries import actual_costs, estimates, max_sizes
from deviceselectors.libraries.function import Function, Overload
from deviceselectors.runtime.addresses import IP, AddressError, parse_address
from deviceselectors.runtime.values import CelError
from deviceselectors.sizes import TRAVERSAL
from resourceapi.go_text import quote

_ADDRESS_ERROR = "IP Address {} parse error during conversion from string: {}"


def parse(text: str) -> IP:
    """`ip(text)`: no zones, no IPv4-mapped addresses."""
    try:
        ip = parse_address(text)
    except AddressError as error:
        raise CelError(_ADDRESS_ERROR.format(quote(text), error)) from None
    if ip.zone:
        raise CelError(f"IP address {quote(text)} with zone value is not allowed")
    if ip.is_mapped:
        raise CelError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return ip


def _is_ip(text: str) -> bool:
    try:
        parse(text)
    except CelError:
        return False
    return True


def _is_loopback(ip: IP) -> bool:
    number, bits = _unmapped(ip)
    return number >> 24 == 127 if bits == 32 else number == 1


def _is_link_local_multicast(ip: IP) -> bool:
    number, bits = _unmapped(ip)
    return number >> 8 == 0xE00000 if bits == 32 else number >> 112 & 0xFF0F == 0xFF02


def _is_link_local_unicast(ip: IP) -> bool:
    number, bits = _unmapped(ip)
    return number >> 16 == 0xA9FE if bits == 32 else number >> 112 & 0xFFC0 == 0xFE80


def _is_global_unicast(ip: IP) -> bool:
    number, bits = _unmapped(ip)
    if number == 0 or _is_loopback(ip) or _is_link_local_unicast(ip):
        return False
    if bits == 32:
        return number != 0xFFFFFFFF and number >> 28 != 0xE
    return number >> 120 != 0xFF


def _unmapped(ip: IP) -> tuple[int, int]:
    # the address of a prefix may be IPv4-mapped, it is never checked
    return (ip.number & 0xFFFFFFFF, 32) if ip.is_mapped else (ip.number, ip.bits)


FUNCTIONS = (
    Function(
        "ip",
        Overload("string_to_ip string > IP", parse),
        estimate=estimates.reads(0),
        cost=actual_costs.reads_target(),
        result_size=max_sizes.opaque,
    ),
    Function(
        "isIP",
        Overload("is_ip string > bool", _is_ip),
        estimate=estimates.reads(0),
        cost=actual_costs.reads_target(),
    ),
    Function(
        "ip.isCanonical",
        Overload("ip_is_canonical string > bool", lambda text: str(parse(text)) == text),
        estimate=estimates.reads(0, 2 * TRAVERSAL),
        cost=actual_costs.reads_target(2),
    ),
    Function("string", Overload("ip_to_string IP > string", str)),
    Function("family", Overload(".ip_family IP > int", lambda ip: 4 if ip.bits == 32 else 6)),
    Function("isUnspecified", Overload(".ip_is_unspecified IP > bool", lambda ip: ip.number == 0)),
    Function("isLoopback", Overload(".ip_is_loopback IP > bool", _is_loopback)),
    Function(
        "isLinkLocalMulticast", Overload(".ip_is_link_local_multicast IP > bool", _is_link_local_multicast)
    ),
    Function("isLinkLocalUnicast", Overload(".ip_is_link_local_unicast IP > bool", _is_link_local_unicast)),
    Function("isGlobalUnicast", Overload(".ip_is_global_unicast IP > bool", _is_global_unicast)),
)
