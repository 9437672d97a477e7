"""Addresses of network interfaces, as a device's network data lists them (``192.0.2.5/24``, ``2001:db8::5/64``).

Source: the API documentation of NetworkDeviceData.ips. Parsing is as lenient as the server's (octets and lengths with
leading zeros, IPv4 addresses mapped into IPv6), but only the canonical form (RFC 5952) is valid.
"""

from __future__ import annotations

from resourceapi.field_errors import INVALID
from resourceapi.go_text import quote
from resourceapi.names import FormatError

_DIGITS = "0123456789"
_HEX = _DIGITS + "abcdefABCDEF"
_IPV4_BITS = 32
_IPV6_BITS = 128


def interface_address(value: str) -> list[FormatError]:
    """An IP address with the length of its network's prefix."""
    canonical = _canonical_interface_address(value)
    if canonical == value:
        return []
    if canonical is None:
        text = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
    else:
        text = f"must be in canonical form ({quote(canonical)})"
    return [FormatError(INVALID, value, text)]


def former_interface_address(value: str) -> list[FormatError]:
    """The same up to 1.32, in any form."""
    if _canonical_interface_address(value) is not None:
        return []
    return [FormatError(INVALID, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")]


def same_address(value: str) -> str:
    """What tells an address from others up to 1.32; empty for what is none."""
    return _canonical_interface_address(value) or ""


def _canonical_interface_address(value: str) -> str | None:
    text, slash, prefix = value.partition("/")
    address = _parse_ipv4(text)
    bits = _IPV4_BITS
    if address is None:
        address = _parse_ipv6(text)
        bits = _IPV6_BITS
    length = _parse_number(prefix, _DIGITS, 10, 3)
    if not slash or address is None or length is None or length > bits:
        return None
    from ipaddress import IPv4Address, IPv6Address  # hardly a request has addresses

    if bits == _IPV4_BITS:
        return f"{IPv4Address(address)}/{length}"
    if address >> _IPV4_BITS == 0xFFFF:
        # An IPv4 address in IPv6's notation; so may be the length.
        return f"{IPv4Address(address & 0xFFFFFFFF)}/{length if length <= _IPV4_BITS else length - 96}"
    return f"{IPv6Address(address)}/{length}"


def _parse_number(text: str, digits: str, base: int, significant: int) -> int | None:
    """A number without sign of so many digits, not counting leading zeros; None if the text is no such number."""
    if not text or text.strip(digits):
        return None
    text = text.lstrip("0")
    return int(text or "0", base) if len(text) <= significant else None


def _parse_ipv4(text: str) -> int | None:
    octets = text.split(".")
    if len(octets) != 4:
        return None
    address = 0
    for octet in octets:
        number = _parse_number(octet, _DIGITS, 10, 3)
        if number is None or number > 255:
            return None
        address = address << 8 | number
    return address


def _parse_ipv6(text: str) -> int | None:
    parts = text.split("::")
    if len(parts) > 2:
        return None
    head = _parse_groups(parts[0], ends_address=len(parts) == 1)
    tail = _parse_groups(parts[-1], ends_address=True) if len(parts) == 2 else []
    if head is None or tail is None:
        return None
    missing = 8 - len(head) - len(tail)
    if missing < 0 or (missing == 0) != (len(parts) == 1):
        return None
    address = 0
    for group in (*head, *(0,) * missing, *tail):
        address = address << 16 | group
    return address


def _parse_groups(text: str, *, ends_address: bool) -> list[int] | None:
    """The 16-bit groups between colons; the last ones of an address can be an IPv4 address."""
    if not text:
        return []
    texts = text.split(":")
    last: list[int] = []
    if ends_address and "." in texts[-1]:
        address = _parse_ipv4(texts.pop())
        if address is None:
            return None
        last = [address >> 16, address & 0xFFFF]
    groups = []
    for group in texts:
        number = _parse_number(group, _HEX, 16, 4)
        if number is None:
            return None
        groups.append(number)
    return groups + last
