"""CC007: ``device.attributes["model"].string``, which the server accepts and which fails on every device.

``attributes`` is looked up by domain and then by name, and gives the value itself.  A domain without a dot is possible
(a driver may be named so), but then an attribute of it would have to be called ``string``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from resourceapi.fieldpath import Path
from validation.lints.shapes import entries, mapping, request_details, text
from validation.lints.table import TYPE_LOOKUP, Warning

_VALUE_TYPES = (".string", ".int", ".bool", ".version")


def check(manifest: dict[str, Any]) -> Iterator[Warning]:
    """The selectors of a claim, template or class."""
    if manifest.get("kind") == "DeviceClass":
        yield from _check_selectors(mapping(manifest, "spec"), ("spec",))
        return
    for request in request_details(manifest):
        yield from _check_selectors(request.details, request.path)


def _check_selectors(holder: dict[str, Any], path: Path) -> Iterator[Warning]:
    for index, selector in enumerate(entries(holder, "selectors")):
        expression = text(mapping(selector, "cel"), "expression")
        if any(suffix in expression for suffix in _VALUE_TYPES):
            yield from _check_expression(expression, (*path, "selectors", index, "cel", "expression"))


def _check_expression(expression: str, path: Path) -> Iterator[Warning]:
    import re

    pattern = r"device\.attributes\[(['\"])([^'\".]+)\1\]\.(string|int|bool|version)\b"
    for matched in re.finditer(pattern, expression):
        name, type = matched[2], matched[3]
        yield Warning(
            TYPE_LOOKUP.code,
            path,
            f'{matched[0]} asks for the attribute "{type}" in the domain "{name}", and fails on devices without it',
            f'attributes are looked up by domain, then by name: `device.attributes["<driver>"].{name}`',
        )
