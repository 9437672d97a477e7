"""CC020 and CC021: what YAML makes of a text before kubectl sends it, without a message.

YAML 1.1, as kubectl reads it, takes ``on`` and ``y`` for booleans, ``!`` at the beginning of a value for a tag, and joins
the lines of a value; a comma ends a value within braces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from advice.lints.table import BOOLEAN_KEY, CHANGED_EXPRESSION, Warning
from resourceapi.field_errors import Path
from resourceapi.kinds import DEVICE_CLASS, claim_spec_of
from resourceapi.manifests import entries, mapping, request_details

if TYPE_CHECKING:
    from documents.manifest import Manifest

_QUOTE = "put the expression in single quotes, or on the lines below `|-`"
_OWN_TAG = "tag:yaml.org,2002:"
_LONGEST = 100


def check(manifest: Manifest) -> Iterator[Warning]:
    """Warn about keys and selectors that are not sent as they look like."""
    text = manifest.text
    if not text:
        return
    if _has_boolean_key(manifest.value):
        for path, written, place in manifest.boolean_keys():
            yield Warning(
                BOOLEAN_KEY.code,
                path,
                f'YAML takes the key `{written}` for a boolean: kubectl sends "{path[-1]}"',
                f'put it in quotes: `"{written}"`',
                place=place,
            )
    may_have_tags = re.search(r"""expression["']?\s*:\s+!""", text) is not None
    for path, selector in _selectors(manifest.value):
        cel = mapping(selector, "cel")
        at = (*path, "cel", "expression")
        expression = cel.get("expression")
        tag = manifest.tag(at) if may_have_tags else ""
        if tag and not tag.startswith(_OWN_TAG):
            sent = (
                f"only `{expression[:_LONGEST]}`" if isinstance(expression, str) and expression else "nothing"
            )
            yield Warning(
                CHANGED_EXPRESSION.code, at, f"YAML takes `{tag}` for a tag: kubectl sends {sent}", _QUOTE
            )
        elif isinstance(expression, str):
            yield from _check_expression(expression, cel, at, manifest)


def _check_expression(
    expression: str, cel: dict[str, Any], path: Path, manifest: Manifest
) -> Iterator[Warning]:
    if any(value is None for key, value in cel.items() if key != "expression"):
        message = f"YAML ends the expression at a comma: kubectl sends only `{expression[:_LONGEST]}`"
        yield Warning(CHANGED_EXPRESSION.code, path, message, _QUOTE)
    comment = _comment(expression) if "//" in expression else None
    if comment is not None and _continues(comment[0], manifest.written(path)):
        yield Warning(
            CHANGED_EXPRESSION.code,
            path,
            "YAML joins the lines, so that everything after `//` is a comment",
            "use `|-` instead of `>-` or quotes, which keeps the lines, or leave out the comment",
            stretch=(comment.start(), len(comment[0])),
        )


def _has_boolean_key(value: Any) -> bool:
    """Whether a key is sent as true or false."""
    if isinstance(value, dict):
        return "true" in value or "false" in value or any(map(_has_boolean_key, value.values()))
    return isinstance(value, list) and any(map(_has_boolean_key, value))


def _selectors(manifest: dict[str, Any]) -> Iterator[tuple[Path, Any]]:
    """The selectors of a class, claim or template with their paths."""
    kind = manifest.get("kind")
    holders: list[tuple[Path, dict[str, Any]]] = []
    if kind == DEVICE_CLASS.name:
        holders = [(("spec",), mapping(manifest, "spec"))]
    elif isinstance(kind, str) and claim_spec_of(kind):
        holders = list(request_details(manifest))
    for path, holder in holders:
        for index, selector in enumerate(entries(holder, "selectors")):
            yield (*path, "selectors", index), selector


def _comment(expression: str) -> re.Match[str] | None:
    """The first comment of an expression, to the end of its line."""
    tokens = re.finditer(
        r'''"""(?s:.*?)"""|\'\'\'(?s:.*?)\'\'\'|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|//[^\n]*''',
        expression,
    )
    return next((token for token in tokens if token[0].startswith("//")), None)


def _continues(comment: str, written: str) -> bool:
    """Whether a comment has text of later lines than that on which it begins."""
    if written[:1] == "|" or "\n" not in written.strip():
        return False
    of_line = next((line[line.index("//") :] for line in written.splitlines() if "//" in line), comment)
    return len(comment.rstrip()) > len(of_line.rstrip().rstrip("\"'"))
