"""Kubernetes' library of semantic versions, version 1, and the versions that attributes have.

Source: Semantic Versioning 2.0.0; error texts are those of kube-apiserver 1.37.
"""

from __future__ import annotations

from deviceselectors.libraries import actual_costs, estimates, max_sizes
from deviceselectors.libraries.function import Function, Overload
from deviceselectors.runtime import effort
from deviceselectors.runtime.values import UINT_MAX, CelError, register_type
from resourceapi.go_text import quote

_DIGITS = frozenset("0123456789")
_IDENTIFIER = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-")

#: An identifier of a prerelease takes memory as this many characters do.
_IDENTIFIER_MEMORY = 32


class Semver:
    """A semantic version. Build metadata is printed but does not count in comparisons."""

    __slots__ = ("build", "key", "major", "minor", "patch", "prerelease")

    def __init__(self, major: int, minor: int, patch: int, prerelease: tuple[str, ...], build: str) -> None:
        self.major = major
        self.minor = minor
        self.patch = patch
        self.prerelease = prerelease
        self.build = build
        #: order: numeric prerelease identifiers come before others, a release after all of its prereleases
        self.key = (
            major,
            minor,
            patch,
            not prerelease,
            tuple([(0, int(p), "") if _DIGITS.issuperset(p) else (1, 0, p) for p in prerelease]),
        )

    def __str__(self) -> str:
        text = f"{self.major}.{self.minor}.{self.patch}"
        if self.prerelease:
            text += "-" + ".".join(self.prerelease)
        return f"{text}+{self.build}" if self.build else text


def _equal(left: Semver, right: Semver) -> bool:
    effort.spend(len(left.prerelease))
    return left.key == right.key


register_type(Semver, "kubernetes.Semver", "cel.Semver", _equal, hashable=False, native="semver.Version")


def parse(text: str, normalize: bool = False) -> Semver:
    """`semver(text)`; with `normalize` also `v1.2` and leading zeroes.

    :raises CelError: if it is no version
    """
    if normalize:
        text = _normalize(text)
    if not text:
        raise CelError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise CelError("No Major.Minor.Patch elements found")
    major = _number(parts[0], "major", "Major number")
    minor = _number(parts[1], "minor", "Minor number")
    rest, plus, build = parts[2].partition("+")
    rest, dash, prerelease = rest.partition("-")
    patch = _number(rest, "patch", "Patch number")
    effort.spend(_IDENTIFIER_MEMORY * prerelease.count("."))
    identifiers = tuple([_prerelease(p) for p in prerelease.split(".")]) if dash else ()
    if plus:
        _check_build(build)
    return Semver(major, minor, patch, identifiers, build)


def _number(digits: str, name: str, subject: str) -> int:
    if not _DIGITS.issuperset(digits):
        raise CelError(f"Invalid character(s) found in {name} number {quote(digits)}")
    return _parse_uint(digits, subject)


def _parse_uint(digits: str, subject: str) -> int:
    if len(digits) > 1 and digits[0] == "0":
        raise CelError(f"{subject} must not contain leading zeroes {quote(digits)}")
    if not digits:
        raise CelError('strconv.ParseUint: parsing "": invalid syntax')
    if len(digits) > 20 or int(digits) > UINT_MAX:
        raise CelError(f"strconv.ParseUint: parsing {quote(digits)}: value out of range")
    return int(digits)


def _prerelease(identifier: str) -> str:
    if not identifier:
        raise CelError("Prerelease is empty")
    if _DIGITS.issuperset(identifier):
        _parse_uint(identifier, "Numeric PreRelease version")
    elif not _IDENTIFIER.issuperset(identifier):
        raise CelError(f"Invalid character(s) found in prerelease {quote(identifier)}")
    return identifier


def _check_build(build: str) -> None:
    for identifier in build.split("."):
        if not identifier:
            raise CelError("Build meta data is empty")
        if not _IDENTIFIER.issuperset(identifier):
            raise CelError(f"Invalid character(s) found in build meta data {quote(identifier)}")


def _normalize(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for i, part in enumerate(parts):
        if len(part.encode("utf-8", "surrogatepass")) > 1:
            stripped = part.lstrip("0")
            parts[i] = stripped if stripped and stripped[0] in _DIGITS else "0" + stripped
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise CelError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        parse(text, normalize)
    except CelError:
        return False
    return True


def _is_greater_than(left: Semver, right: Semver) -> bool:
    effort.spend(len(left.prerelease))
    return left.key > right.key


def _is_less_than(left: Semver, right: Semver) -> bool:
    effort.spend(len(left.prerelease))
    return left.key < right.key


def _compare_to(left: Semver, right: Semver) -> int:
    effort.spend(len(left.prerelease))
    return (left.key > right.key) - (left.key < right.key)


def _wrapped(number: int) -> int:
    """The 64-bit int that cel-go makes of an unsigned number, without an overflow check."""
    return number if number < 1 << 63 else number - (1 << 64)


FUNCTIONS = (
    Function(
        "semver",
        Overload("string_to_semver string > Semver", parse),
        Overload("string_bool_to_semver string; bool > Semver", parse, since=33),
        estimate=estimates.reads(0),
        cost=actual_costs.reads_target(),
        result_size=max_sizes.opaque,
    ),
    Function(
        "isSemver",
        Overload("is_semver_string string > bool", _is_semver),
        Overload("is_semver_string_bool string; bool > bool", _is_semver, since=33),
        estimate=estimates.reads(0),
        cost=actual_costs.reads_target(),
    ),
    Function("major", Overload(".semver_major Semver > int", lambda value: _wrapped(value.major))),
    Function("minor", Overload(".semver_minor Semver > int", lambda value: _wrapped(value.minor))),
    Function("patch", Overload(".semver_patch Semver > int", lambda value: _wrapped(value.patch))),
    Function("isGreaterThan", Overload(".semver_is_greater_than Semver; Semver > bool", _is_greater_than)),
    Function("isLessThan", Overload(".semver_is_less_than Semver; Semver > bool", _is_less_than)),
    Function("compareTo", Overload(".semver_compare_to Semver; Semver > int", _compare_to)),
)
