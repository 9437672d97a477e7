"""IP addresses and networks as Go's netip reads and prints them.

They are parsed here and not by `ipaddress`, because the errors name what is wrong and where, as Go's netip does.
"""

from __future__ import annotations

from operator import eq

from deviceselectors.runtime.values import register_type
from resourceapi.go_text import quote

_HEX = {c: int(c, 16) for c in "0123456789abcdefABCDEF"}


class AddressError(ValueError):
    """Go's error of a text that is no address or prefix."""


class IP:
    """An address: the number, and whether it is version 4 (32 bits) or 6 (128 bits, perhaps with a zone)."""

    __slots__ = ("bits", "number", "zone")

    def __init__(self, number: int, bits: int, zone: str = "") -> None:
        self.number = number
        self.bits = bits
        self.zone = zone

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, IP)
            and self.number == other.number
            and self.bits == other.bits
            and self.zone == other.zone
        )

    def __hash__(self) -> int:
        return hash((self.number, self.bits))

    def __len__(self) -> int:
        """The size that costs are computed from, in bytes."""
        return self.bits // 8

    @property
    def is_mapped(self) -> bool:
        """Whether it is a version 4 address written as one of version 6."""
        return self.bits == 128 and self.number >> 32 == 0xFFFF

    def __str__(self) -> str:
        from ipaddress import IPv4Address, IPv6Address  # few expressions print addresses

        if self.bits == 32:
            return str(IPv4Address(self.number))
        zone = f"%{self.zone}" if self.zone else ""
        if self.is_mapped:
            return f"::ffff:{IPv4Address(self.number & 0xFFFFFFFF)}{zone}"
        return f"{IPv6Address(self.number)}{zone}"


class CIDR:
    """An address and the number of leading bits that make the network; the rest of the bits may be set."""

    __slots__ = ("ip", "prefix")

    def __init__(self, ip: IP, prefix: int) -> None:
        self.ip = ip
        self.prefix = prefix

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CIDR) and self.prefix == other.prefix and self.ip == other.ip

    def __hash__(self) -> int:
        return hash((self.ip, self.prefix))

    def __len__(self) -> int:
        """The size that costs are computed from: the bytes that the prefix fills."""
        return (self.prefix + 7) // 8

    def __str__(self) -> str:
        return f"{self.ip}/{self.prefix}"


register_type(IP, "net.IP", "cel.IP", eq, sized=True, native="netip.Addr")
register_type(CIDR, "net.CIDR", "cel.CIDR", eq, sized=True, native="netip.Prefix")


# ---------------------------------------------------------------- parsing


def _address_error(text: str, message: str, at: str = "") -> AddressError:
    return AddressError(f"ParseAddr({quote(text)}): {message}{f' (at {quote(at)})' if at else ''}")


def parse_address(text: str) -> IP:
    """An address as Go's netip.ParseAddr takes it, zones included.

    :raises AddressError: if it is none
    """
    for c in text:
        if c == ".":
            return IP(_parse_octets(text, text), 32)
        if c == ":":
            return _parse_groups(text)
        if c == "%":
            raise _address_error(text, "missing IPv6 address")
    raise _address_error(text, "unable to parse IP")


def _parse_octets(text: str, part: str) -> int:
    number, octet, digits, dots = 0, 0, 0, 0
    for i, c in enumerate(part):
        if "0" <= c <= "9":
            if digits == 1 and octet == 0:
                raise _address_error(text, "IPv4 field has octet with leading zero")
            octet = octet * 10 + int(c)
            digits += 1
            if octet > 255:
                raise _address_error(text, "IPv4 field has value >255")
        elif c == ".":
            if i == 0 or i == len(part) - 1 or part[i - 1] == ".":
                raise _address_error(text, "IPv4 field must have at least one digit", part[i:])
            if dots == 3:
                raise _address_error(text, "IPv4 address too long")
            number = number << 8 | octet
            dots += 1
            octet = digits = 0
        else:
            raise _address_error(text, "unexpected character", part[i:])
    if dots < 3:
        raise _address_error(text, "IPv4 address too short")
    return number << 8 | octet


def _parse_groups(text: str) -> IP:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _address_error(text, "zone must be a non-empty string")
    groups: list[int] = []
    ellipsis = -1
    if rest.startswith("::"):
        ellipsis = 0
        rest = rest[2:]
        if not rest:
            return IP(0, 128, zone)
    while len(groups) < 8:
        group, digits = _parse_group(text, rest)
        if digits < len(rest) and rest[digits] == ".":
            _check_embedded(text, rest, ellipsis, len(groups))
            octets = _parse_octets(text, rest)
            groups += (octets >> 16, octets & 0xFFFF)
            rest = ""
            break
        groups.append(group)
        rest = rest[digits:]
        if not rest:
            break
        if rest[0] != ":":
            raise _address_error(text, "unexpected character, want colon", rest)
        if len(rest) == 1:
            raise _address_error(text, "colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest[0] == ":":
            if ellipsis >= 0:
                raise _address_error(text, "multiple :: in address", rest)
            ellipsis = len(groups)
            rest = rest[1:]
            if not rest:
                break
    if rest:
        raise _address_error(text, "trailing garbage after address", rest)
    return IP(_join_groups(text, groups, ellipsis), 128, zone)


def _parse_group(text: str, rest: str) -> tuple[int, int]:
    """The value of the hexadecimal digits at the beginning, and their number."""
    group = digits = 0
    for c in rest:
        value = _HEX.get(c)
        if value is None:
            break
        group = group << 4 | value
        if digits > 3:
            raise _address_error(text, "each group must have 4 or less digits", rest)
        digits += 1
    if not digits:
        raise _address_error(text, "each colon-separated field must have at least one digit", rest)
    return group, digits


def _check_embedded(text: str, rest: str, ellipsis: int, groups: int) -> None:
    if ellipsis < 0 and groups != 6:
        message = "embedded IPv4 address must replace the final 2 fields of the address"
        raise _address_error(text, message, rest)
    if groups + 2 > 8:
        message = "too many hex fields to fit an embedded IPv4 at the end of the address"
        raise _address_error(text, message, rest)


def _join_groups(text: str, groups: list[int], ellipsis: int) -> int:
    if len(groups) < 8:
        if ellipsis < 0:
            raise _address_error(text, "address string too short")
        groups = groups[:ellipsis] + [0] * (8 - len(groups)) + groups[ellipsis:]
    elif ellipsis >= 0:
        raise _address_error(text, "the :: must expand to at least one field of zeros")
    number = 0
    for group in groups:
        number = number << 16 | group
    return number


def parse_prefix(text: str) -> CIDR:
    """An address with the length of a prefix as Go's netip.ParsePrefix takes it.

    :raises AddressError: if it is none
    """

    def error(message: str) -> AddressError:
        return AddressError(f"netip.ParsePrefix({quote(text)}): {message}")

    address, slash, bits = text.rpartition("/")
    if not slash:
        raise error("no '/'")
    try:
        ip = parse_address(address)
    except AddressError as failure:
        raise error(str(failure)) from None
    if ip.zone:
        raise error("IPv6 zones cannot be present in a prefix")
    if len(bits) > 1 and not "1" <= bits[0] <= "9":
        raise error(f"bad bits after slash: {quote(bits)}")
    if not (bits.isascii() and bits.isdigit()) or len(bits) > 18:
        raise error(f"bad bits after slash: {quote(bits)}")
    if int(bits) > ip.bits:
        raise error("prefix length out of range")
    return CIDR(ip, int(bits))
