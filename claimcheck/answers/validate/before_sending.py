"""What kubectl refuses before it sends an object, and no rule of the server covers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from claimcheck.answers.treatment import ASK, NOT_SERVED
from claimcheck.answers.validate.sending import APPLY, CREATE_ONLY, SERVER_SIDE
from resourceapi.field_errors import INVALID, REQUIRED
from resourceapi.manifests import mapping, text
from resourceapi.names import path_segment
from resourceapi.recognition import is_manifest, is_of_kubernetes, item_problems, metadata_problem
from resourceapi.releases import split_api_version
from validation.requests import GENERATED_NAME, WRONG_TYPE

if TYPE_CHECKING:
    from documents.manifest import Manifest
    from resourceapi.field_errors import Path
    from resourceapi.objects import Object
    from resourceapi.releases import Profile

# The server makes up answers to objects of these groups, which have no names.
_QUESTIONS = frozenset(("authentication.k8s.io", "authorization.k8s.io"))


class Refusal(NamedTuple):
    """What kubectl says, the field that it is about, and a name for the rule (:mod:`validation.requests`)."""

    rule: str
    path: Path
    message: str


def refusals(manifest: Manifest, how: str, sender: str, profile: Profile) -> list[Refusal]:
    """What kubectl refuses in an object.

    :param how: its :func:`claimcheck.answers.treatment.treatment`: what is sent to the server, the server refuses by itself.
    """
    if sender not in (APPLY, SERVER_SIDE, CREATE_ONLY):
        return []
    found: list[Refusal] = []
    if how in (ASK, NOT_SERVED):
        if how == ASK and sender != CREATE_ONLY and _needs_generated_name(manifest.value):
            found.append(_NO_GENERATED_NAME)
    elif is_manifest(manifest.value):
        if unreadable := metadata_problem(manifest.value):
            return [Refusal(WRONG_TYPE, *unreadable)]
        if is_of_kubernetes(manifest.value):
            found += _of_name(manifest.value, sender)
    if manifest.listed_as:
        problems = item_problems(manifest.value, manifest.listed_as, profile)
        found += (Refusal(WRONG_TYPE, *problem) for problem in problems)
    return found


_NO_GENERATED_NAME = Refusal(
    GENERATED_NAME, ("metadata", "generateName"), "cannot use generate name with apply"
)


def _needs_generated_name(value: Object) -> bool:
    metadata = mapping(value, "metadata")
    return bool(text(metadata, "generateName")) and not text(metadata, "name")


def _of_name(value: Object, sender: str) -> list[Refusal]:
    """What is wrong with the name of an object that the server is not asked about here, as far as it is so for any kind."""
    name, path = text(mapping(value, "metadata"), "name"), ("metadata", "name")
    if name:
        found = [] if sender == CREATE_ONLY else path_segment(name)
        return [Refusal(INVALID, path, f'invalid resource name "{name}": [{each.detail}]') for each in found]
    is_generated = _needs_generated_name(value)
    if sender != CREATE_ONLY:
        return [
            _NO_GENERATED_NAME if is_generated else Refusal(REQUIRED, path, "resource name may not be empty")
        ]
    if is_generated or split_api_version(str(value["apiVersion"]))[0] in _QUESTIONS:
        return []
    return [Refusal(REQUIRED, path, "Required value: name or generateName is required")]
