"""``--namespace`` as kubectl has it: objects of files that name another one are refused."""

from __future__ import annotations

from resourceapi.kinds import KINDS
from resourceapi.manifests import mapping, text
from resourceapi.objects import Object


def namespace_mismatch(of_object: str, of_option: str) -> str:
    """What kubectl says of an object that names another namespace than the option."""
    return (
        f'the namespace from the provided object "{of_object}" does not match the namespace "{of_option}". '
        f"You must pass '--namespace={of_object}' to perform this operation."
    )


def namespace_problem(value: Object, of_option: str) -> str:
    """The same for a manifest; empty if it may be in the namespace, or in none."""
    named = text(mapping(value, "metadata"), "namespace")
    kind = KINDS.get(str(value.get("kind")))
    if not of_option or not named or named == of_option or (kind is not None and not kind.namespaced):
        return ""
    return namespace_mismatch(named, of_option)
