"""Mutations of decoded documents and of their text.

A mutation of a tree that keeps types (`reshape`) mostly leaves an object that still decodes; one that does not
(`retype`) mostly is refused while decoding; one of the text (`garble`) may not even be YAML any more.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

Container = dict[str, object] | list[object]
Place = tuple[Container, str | int]

_STRINGS = (
    "",
    " ",
    "a" * 64,
    "a" * 254,
    "x" * 10_241,
    "UPPER",
    "with space",
    "a/b",
    "a/b/c",
    "/",
    "main/",
    "..",
    "-a",
    "é",
    "\u4e2d\u6587",
    "\U0001f600",
    "line\nbreak",
    "\x00",
    "\u2028",
    "\ufeff",
    "%s%d%n",
    "${{ template }}",
    "{{ .Values.x }}",
    "1e400",
    "NaN",
    "0x10",
    "\\u0041",
    '"',
    "true",
    "null",
)
_INTEGERS = (0, -1, 2, 33, 129, 2**31, 2**53, 2**63 - 1, -(2**63))
_IDENTITY = ("apiVersion", "kind", "metadata", "name", "namespace")
_MISFITS: tuple[object, ...] = (
    None,
    True,
    1.5,
    -0.0,
    1e308,
    10**30,
    -(10**30),
    2**63,
    "text",
    [],
    {},
    [[]],
    [None],
    {"": None},
    {"a": {"b": []}},
)


def mutate(pick: random.Random, document: dict[str, Any]) -> dict[str, Any]:
    """A copy with one to four changes, few of them against the fields' types."""
    changed = copy.deepcopy(document)
    for _ in range(pick.choice((1, 1, 2, 3, 4))):
        places = list(_places(changed))
        if pick.random() < 0.8:  # otherwise too many documents get no further than their kind or name
            places = [place for place in places if place[1] not in _IDENTITY] or places
        container, key = pick.choice(places)
        if pick.random() < 0.85:
            pick.choice(_RESHAPES)(pick, container, key)
        else:
            _retype(pick, container, key)
    return changed


def garble(pick: random.Random, text: bytes) -> bytes:
    """The text with a few bytes overwritten, cut out, doubled or moved."""
    data = bytearray(text)
    for _ in range(pick.choice((1, 1, 2, 8))):
        start = pick.randrange(len(data) + 1)
        length = pick.choice((1, 1, 2, 10, 100))
        piece = bytes(data[start : start + length])
        match pick.randrange(4):
            case 0:
                data[start : start + length] = bytes(pick.randrange(256) for _ in piece)
            case 1:
                del data[start : start + length]
            case 2:
                data[start:start] = piece
            case 3:
                data[start:start] = pick.choice(
                    (b"\t", b"\n", b": ", b"- ", b"*a", b"&a ", b"{", b"]", b'"', b"---\n", b"\xff")
                )
    return bytes(data)


def _places(container: Container) -> Iterator[Place]:
    """Every key of every dict and every index of every list, parents first."""
    if isinstance(container, dict):
        entries: list[tuple[str | int, object]] = list(container.items())
    else:
        entries = list(enumerate(container))
    for key, value in entries:
        yield container, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _get(container: Container, key: str | int) -> object:
    return container[key]  # type: ignore[index]


def _set(container: Container, key: str | int, value: object) -> None:
    container[key] = value  # type: ignore[index]


def _retype(pick: random.Random, container: Container, key: str | int) -> None:
    if isinstance(container, dict) and pick.random() < 0.3:
        key = pick.choice(("unknown", "Spec", "name ", "metadata", ""))
    # A copy, as later mutations go into what is put here.
    _set(container, key, copy.deepcopy(pick.choice(_MISFITS)))


def _other_scalar(pick: random.Random, container: Container, key: str | int) -> None:
    match _get(container, key):
        case bool() as value:
            _set(container, key, not value)
        case int():
            _set(container, key, pick.choice(_INTEGERS))
        case str():
            _set(container, key, pick.choice(_STRINGS))


def _delete(pick: random.Random, container: Container, key: str | int) -> None:
    if key not in ("apiVersion", "kind"):
        del container[key]  # type: ignore[arg-type]


def _nullify(pick: random.Random, container: Container, key: str | int) -> None:
    if key not in ("apiVersion", "kind"):
        _set(container, key, None)


def _empty(pick: random.Random, container: Container, key: str | int) -> None:
    value = _get(container, key)
    if isinstance(value, dict | list | str):
        _set(container, key, type(value)())


def _repeat(pick: random.Random, container: Container, key: str | int) -> None:
    value = _get(container, key)
    if isinstance(value, list) and value:
        times = pick.choice((2, 2, 9, 33, 130))
        _set(container, key, [copy.deepcopy(value[number % len(value)]) for number in range(times)])
    elif isinstance(container, list):
        container.insert(pick.randrange(len(container) + 1), copy.deepcopy(value))


def _shuffle(pick: random.Random, container: Container, key: str | int) -> None:
    value = _get(container, key)
    if isinstance(value, list):
        pick.shuffle(value)


def _more_keys(pick: random.Random, container: Container, key: str | int) -> None:
    value = _get(container, key)
    if isinstance(value, dict) and value:
        like = pick.choice(list(value.values()))
        for text in pick.sample(_STRINGS, 3):
            value[text] = copy.deepcopy(like)


def _copy_elsewhere(pick: random.Random, container: Container, key: str | int) -> None:
    value = _get(container, key)
    if isinstance(container, dict):
        for other in list(container):
            if isinstance(container[other], type(value)) and other not in ("apiVersion", "kind"):
                container[other] = copy.deepcopy(value)


_RESHAPES: tuple[Callable[[random.Random, Container, str | int], None], ...] = (
    _other_scalar,
    _other_scalar,
    _other_scalar,
    _delete,
    _nullify,
    _empty,
    _repeat,
    _repeat,
    _shuffle,
    _copy_elsewhere,
    _more_keys,
)
