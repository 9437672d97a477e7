"""How a server reads a configuration for server-side apply: kubectl sends JSON, and the server takes it for YAML.

Almost all JSON is YAML of the same meaning. What is not, is so in the strings that Go's encoder leaves as they are.
Source: answers of kube-apiserver 1.37.1 (`tests/cluster/data/configurations_as_yaml.json`, asked again by `tests/e2e`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from resourceapi.errors import ClaimcheckError
from resourceapi.field_errors import Path
from resourceapi.go_text import json_string
from resourceapi.objects import Object
from resourceapi.recognition import with_sorted_keys

#: Those that YAML does not have, of the characters that JSON may have as they are.
_CONTROL_CHARACTERS = re.compile("[\x7f-\x84\x86-\x9f\ufffe\uffff]")
#: The one that is a line break in YAML, but not in JSON.
_LINE_BREAK = "\x85"
_BREAKS = re.compile(f" *{_LINE_BREAK}[ {_LINE_BREAK}]*")
#: How long a key may be in JSON, with its quotes and escapes.
_MOST_OF_A_KEY = 1024


class ConfigurationRefused(ClaimcheckError):
    """A configuration that the server does not apply to any object; the text is the server's.

    :ivar path: the field that it is about; empty for the whole.
    """

    def __init__(self, message: str, path: Path = ()) -> None:
        super().__init__(message)
        self.path = path


def read_as_yaml(configuration: Object) -> Object:
    """The configuration that the server reads.

    :raises ConfigurationRefused: if it can read none.
    """
    breaks = 0
    for path, text, is_key in _texts(with_sorted_keys(configuration), ()):
        written = json_string(text)
        if _CONTROL_CHARACTERS.search(written):
            raise _refused("control characters are not allowed", path)
        breaks += written.count(_LINE_BREAK)
        if is_key and (len(written) > _MOST_OF_A_KEY or _LINE_BREAK in written):
            line = f"line {breaks}: " if breaks else ""
            raise _refused(f"{line}did not find expected ',' or '}}'", path)
    return _folded(configuration) if breaks else configuration


def _refused(reason: str, path: Path) -> ConfigurationRefused:
    return ConfigurationRefused(f"error decoding patch: error converting YAML to JSON: yaml: {reason}", path)


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str, bool]]:
    """All strings of a value in their order, with the field that each is in, and whether it is a key."""
    if isinstance(value, str):
        yield path, value, False
    elif isinstance(value, dict):
        for key, member in value.items():
            yield (*path, key), key, True
            yield from _texts(member, (*path, key))
    elif isinstance(value, list):
        for place, member in enumerate(value):
            yield from _texts(member, (*path, place))


def _folded(value: Any) -> Any:
    """The value without line breaks in strings: one is a space, of several in a row the first is left out."""
    if isinstance(value, str):
        return _BREAKS.sub(lambda found: "\n" * (found[0].count(_LINE_BREAK) - 1) or " ", value)
    if isinstance(value, dict):
        return {key: _folded(member) for key, member in value.items()}
    return [_folded(member) for member in value] if isinstance(value, list) else value
