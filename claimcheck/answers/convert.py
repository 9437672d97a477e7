"""Manifests in another API version, with their comments and layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from claimcheck.answers.handling import can_migrate
from classic.migration.objects import is_classic
from conversion.documents import ConversionError, convert_document
from documents import Document, DocumentError, parse
from documents.comments import comments_in_text
from documents.rewriting import rewrite
from resourceapi.kinds import KINDS
from resourceapi.model.versions import GROUP
from resourceapi.releases import split_api_version

if TYPE_CHECKING:
    from resourceapi.kind import Kind
    from resourceapi.schema import Schema


_MIGRATE = "claimcheck migrate rewrites it for v1"


class Converted(NamedTuple):
    """A text in another version; with problems it is the text as it was."""

    text: str
    problems: list[DocumentError]


def convert_text(
    text: str, file: str, version: str, schemas: Mapping[str, Schema], minor: int | None = None
) -> Converted:
    """Convert all objects of a text for which that makes sense; the others stay as they are.

    :param file: the name for messages.
    :param version: such as ``v1``.
    :param minor: the release that must have it, 1.``minor``, if it is to be for one.
    """
    changes: list[tuple[Document, dict[str, Any]]] = []
    problems = []
    for document in parse(text, file):
        if isinstance(document, DocumentError):
            problems.append(document)
            continue
        try:
            converted = convert_value(document.value, version, schemas, minor)
        except ConversionError as error:
            hint = _MIGRATE if is_classic(document.value) and can_migrate(document) else ""
            problems.append(document.error(error.path, str(error), hint))
            continue
        if converted is not document.value:
            changes.append((document, converted))
    if not problems and changes:
        try:
            return Converted(rewritten(text, changes), [])
        except DocumentError as error:
            problems.append(error)
    return Converted(text, problems)


def convert_value(
    value: dict[str, Any], version: str, schemas: Mapping[str, Schema], minor: int | None = None
) -> dict[str, Any]:
    """An object in another version; the same object if there is nothing to convert.

    :param minor: see :func:`convert_text`.
    :raises ConversionError: if the version cannot hold it, it cannot be read, or the release does not have the version.
    """
    if is_classic(value):
        raise ConversionError(
            f"{value['kind']} of classic DRA cannot be converted field by field", ("apiVersion",)
        )
    if not _is_of_group(value) or _has_only_version(value):
        return value
    if minor is not None:
        _insist_on_release(KINDS[value["kind"]], version, minor)
    return convert_document(_readable(value), version, schemas)


def _insist_on_release(kind: Kind, version: str, minor: int) -> None:
    served = [each for each in kind.versions if kind.served(each, minor)]
    if version not in served:
        has = f"it has {', '.join(served)}" if served else f"it has no {kind.name} at all"
        raise ConversionError(f"1.{minor} has no {version} of {kind.name}: {has}", ("apiVersion",))


def rewritten(text: str, changes: list[tuple[Document, dict[str, Any]]]) -> str:
    """The text with changed objects and all of its comments.

    :raises DocumentError: if a comment has no place any more.
    """
    source = changes[0][0].source
    converted = rewrite(source, changes, keeps_comments=True)
    before = list(comments_in_text(text))
    lost = Counter(comment for _, comment in before)
    lost.subtract(Counter(comment for _, comment in comments_in_text(converted)))
    offset = next((offset for offset, comment in before if lost[comment] > 0), None)
    if offset is not None:
        message = "this comment would be lost, as its place falls away"
        raise source.error(offset, message, "move it to a line of its own above the object, or remove it")
    return converted


def _readable(value: dict[str, Any]) -> dict[str, Any]:
    """Read an object of v1alpha3 as of 1.31 as v1beta1, which differs only in a slice's capacities."""
    if value["apiVersion"] == f"{GROUP}/v1alpha3" and "v1alpha3" not in KINDS[value["kind"]].versions:
        return {**value, "apiVersion": f"{GROUP}/v1beta1"}
    return value


def _has_only_version(value: dict[str, Any]) -> bool:
    """Whether it is in the only version of its kind: there is nothing to convert it to."""
    return [split_api_version(value["apiVersion"])[1]] == list(KINDS[value["kind"]].versions)


def _is_of_group(value: dict[str, Any]) -> bool:
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return False
    return api_version.startswith(GROUP + "/") and kind in KINDS
