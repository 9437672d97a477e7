"""CEL's IP address and CIDR libraries.

Addresses are parsed here and not by `ipaddress`, because the errors name what is wrong and where, as Go's netip does.
"""

from __future__ import annotations

from deviceselectors.runtime.values import CelError, register_type
from resourceapi.go_text import quote

_HEX = {c: int(c, 16) for c in "0123456789abcdefABCDEF"}
_ADDRESS_ERROR = "IP Address {} parse error during conversion from string: {}"
_NETWORK_ERROR = "network address parse error during conversion from string: "


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

    def __str__(self) -> str:
        if self.bits == 32:
            return _dotted(self.number)
        zone = f"%{self.zone}" if self.zone else ""
        if self.number >> 32 == 0xFFFF:
            return f"::ffff:{_dotted(self.number & 0xFFFFFFFF)}{zone}"
        return _colon_separated(self.number) + zone


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


def _equal_ips(left: IP, right: IP) -> bool:
    return left == right


def _equal_cidrs(left: CIDR, right: CIDR) -> bool:
    return left == right


register_type(IP, "net.IP", "cel.IP", _equal_ips)
register_type(CIDR, "net.CIDR", "cel.CIDR", _equal_cidrs)


def _dotted(number: int) -> str:
    return f"{number >> 24 & 255}.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def _colon_separated(number: int) -> str:
    """RFC 5952: the first longest run of at least two zero groups becomes `::`."""
    groups = [number >> shift & 0xFFFF for shift in range(112, -16, -16)]
    start, length = 0, 0
    i = 0
    while i < 8:
        j = i
        while j < 8 and not groups[j]:
            j += 1
        if j - i >= 2 and j - i > length:
            start, length = i, j - i
        i = max(j, i + 1)
    if not length:
        return ":".join([f"{g:x}" for g in groups])
    before = ":".join([f"{g:x}" for g in groups[:start]])
    return before + "::" + ":".join([f"{g:x}" for g in groups[start + length :]])


# ---------------------------------------------------------------- parsing


def _address_error(text: str, message: str, at: str = "") -> AddressError:
    return AddressError(f"ParseAddr({quote(text)}): {message}{f' (at {quote(at)})' if at else ''}")


def parse_address(text: str) -> IP:
    """An address as Go's netip.ParseAddr takes it, zones included. Raises AddressError."""
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


def _parse_prefix(text: str) -> CIDR:
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


def _is_mapped(ip: IP) -> bool:
    return ip.bits == 128 and ip.number >> 32 == 0xFFFF


def parse_ip(text: str) -> IP:
    """`ip(text)`: no zones, no IPv4-mapped addresses."""
    try:
        ip = parse_address(text)
    except AddressError as error:
        raise CelError(_ADDRESS_ERROR.format(quote(text), error)) from None
    if ip.zone:
        raise CelError(f"IP address {quote(text)} with zone value is not allowed")
    if _is_mapped(ip):
        raise CelError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return ip


def parse_cidr(text: str) -> CIDR:
    """`cidr(text)`."""
    try:
        cidr = _parse_prefix(text)
    except AddressError as error:
        raise CelError(f"{_NETWORK_ERROR}{_NETWORK_ERROR}{error}") from None
    if _is_mapped(cidr.ip):
        raise CelError(f"{_NETWORK_ERROR}IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return cidr


def is_ip(text: str) -> bool:
    try:
        parse_ip(text)
    except CelError:
        return False
    return True


def is_cidr(text: str) -> bool:
    try:
        parse_cidr(text)
    except CelError:
        return False
    return True


# ---------------------------------------------------------------- functions


def is_canonical(text: str) -> bool:
    return str(parse_ip(text)) == text


def family(ip: IP) -> int:
    return 4 if ip.bits == 32 else 6


def is_unspecified(ip: IP) -> bool:
    return ip.number == 0


def is_loopback(ip: IP) -> bool:
    number, bits = _unmapped(ip)
    return number >> 24 == 127 if bits == 32 else number == 1


def is_link_local_multicast(ip: IP) -> bool:
    number, bits = _unmapped(ip)
    return number >> 8 == 0xE00000 if bits == 32 else number >> 112 & 0xFF0F == 0xFF02


def is_link_local_unicast(ip: IP) -> bool:
    number, bits = _unmapped(ip)
    return number >> 16 == 0xA9FE if bits == 32 else number >> 112 & 0xFFC0 == 0xFE80


def is_global_unicast(ip: IP) -> bool:
    number, bits = _unmapped(ip)
    if number == 0 or is_loopback(ip) or is_link_local_unicast(ip):
        return False
    if bits == 32:
        return number != 0xFFFFFFFF and number >> 28 != 0xE
    return number >> 120 != 0xFF


def _unmapped(ip: IP) -> tuple[int, int]:
    # the address of a prefix may be IPv4-mapped, it is never checked
    return (ip.number & 0xFFFFFFFF, 32) if _is_mapped(ip) else (ip.number, ip.bits)


def contains_ip(cidr: CIDR, ip: IP) -> bool:
    if cidr.ip.bits != ip.bits:
        return False
    return (cidr.ip.number ^ ip.number) >> (ip.bits - cidr.prefix) == 0


def contains_ip_text(cidr: CIDR, text: str) -> bool:
    try:
        ip = parse_ip(text)
    except CelError:
        # cel-go loses the reason here
        raise CelError("no such overload") from None
    return contains_ip(cidr, ip)


def contains_cidr(cidr: CIDR, other: CIDR) -> bool:
    return cidr.prefix <= other.prefix and contains_ip(cidr, other.ip)


def contains_cidr_text(cidr: CIDR, text: str) -> bool:
    return contains_cidr(cidr, parse_cidr(text))


def cidr_ip(cidr: CIDR) -> IP:
    return cidr.ip


def prefix_length(cidr: CIDR) -> int:
    return cidr.prefix


def masked(cidr: CIDR) -> CIDR:
    shift = cidr.ip.bits - cidr.prefix
    return CIDR(IP(cidr.ip.number >> shift << shift, cidr.ip.bits), cidr.prefix)
