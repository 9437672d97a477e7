"""``--namespace`` as kubectl has it: objects of files that name another one are refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from claimcheck.answers.outcome import Failure
from resourceapi.kinds import KINDS, kind_of
from resourceapi.manifests import mapping, text

if TYPE_CHECKING:
    from advice.findings import Result
    from documents.manifest import Manifest


def namespace_mismatch(of_object: str, of_option: str) -> str:
    """What kubectl says of an object that names another namespace than the option."""
    return (
        f'the namespace from the provided object "{of_object}" does not match the namespace "{of_option}". '
        f"You must pass '--namespace={of_object}' to perform this operation."
    )


def in_namespace(
    found: Iterable[Manifest | Result | Failure], of_option: str
) -> Iterator[Manifest | Result | Failure]:
    """What files contain; an object that names another namespace than the option becomes a failure.

    :param of_option: empty if the option is not given.
    """
    for each in found:
        value = getattr(each, "value", None)
        named = text(mapping(value, "metadata"), "namespace") if of_option and isinstance(value, dict) else ""
        if named and named != of_option and _may_be_namespaced(each):
            yield Failure(
                each.file, f"line {getattr(each, 'line', 0)}: {namespace_mismatch(named, of_option)}"
            )
        else:
            yield each


def _may_be_namespaced(manifest: object) -> bool:
    value = getattr(manifest, "value", {})
    kind = kind_of(value.get("apiVersion"), value.get("kind")) or KINDS.get(str(value.get("kind")))
    return kind is None or kind.namespaced
