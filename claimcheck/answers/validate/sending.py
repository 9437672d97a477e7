"""Sends an object of the input: as kubectl does, or the JSON of the file as it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claimcheck.answers.handling import ASK, NOT_SERVED
from documents.document import Document
from resourceapi.deep_json import most_bytes
from resourceapi.errors import ClaimcheckError
from resourceapi.field_errors import INVALID, REQUIRED
from resourceapi.go_text import json_text
from resourceapi.manifests import mapping, text
from resourceapi.names import path_segment
from resourceapi.recognition import (
    is_manifest,
    is_of_kubernetes,
    item_problems,
    metadata_problem,
    with_sorted_keys,
)
from resourceapi.releases import split_api_version
from validation import statuses
from validation.requests import CREATE, FIELD_CONFLICT, GENERATED_NAME, PATCH_REFUSED, WARN, WRONG_TYPE

if TYPE_CHECKING:
    from documents.manifest import Manifest
    from resourceapi.field_errors import Path
    from resourceapi.objects import Object
    from resourceapi.releases import Profile
    from validation.requests import Answer, Request
    from validation.server import Server


BAD_REQUEST = 400
#: Who sends a request: ``kubectl apply``, the same with ``--server-side``, ``kubectl create``, ``kubectl patch``, or a client that
#: sends JSON as it stands, such as curl.
APPLY, SERVER_SIDE, CREATE_ONLY, PATCH, AS_SENT = (
    "apply",
    "apply --server-side",
    "create",
    "patch",
    "as sent",
)


class ChangeRefused(ClaimcheckError):
    """The server does not change an object so; the text is the server's.

    :ivar rule: a name of :mod:`validation.requests`.
    :ivar path: the field that it is about; empty for the whole.
    """

    def __init__(self, rule: str, message: str, path: Path = ()) -> None:
        super().__init__(message)
        self.rule = rule
        self.path = path


def send(server: Server, request: Request, manifest: Manifest, sender: str) -> Answer:
    """The server's answer to a request with the object of a manifest.

    YAML makes no difference to who sends it as it stands: the server itself reads it with sorted keys.
    """
    if sender == AS_SENT and manifest.json_text:
        return server.handle(request._replace(body=None, raw=manifest.json_text))
    refusal = None if manifest.is_small else _refuse_size(request.body)
    if refusal is not None:
        return refusal
    if sender == PATCH:  # kubectl leaves it to the server, which warns of unknown fields
        request = request._replace(field_validation=WARN)
    if request.verb != CREATE:  # parameters of drivers are compared as text
        return server.handle(request._replace(body=with_sorted_keys(request.body)))
    answer = server.handle(request)
    if answer.code != BAD_REQUEST:
        return answer
    # the order of keys decides only which of several fields is refused, so it costs nothing where none is
    return server.handle(request._replace(body=with_sorted_keys(request.body)))


def _refuse_size(body: Object) -> Answer | None:
    """Refuse a body that the server does not read to its end."""
    if most_bytes(body) <= statuses.BODY_BYTES:
        return None
    return statuses.refuse_size(json_text(body) + "\n")


# What kubectl refuses before it sends an object, and no rule of the server covers.

# The server makes up answers to objects of these groups, which have no names.
_QUESTIONS = frozenset(("authentication.k8s.io", "authorization.k8s.io"))


Refusal = tuple[str, "Path", str]
"""A name for the rule (:mod:`validation.requests`), the field that it is about, and what kubectl says."""


def refusals(manifest: Manifest, how: str, sender: str, profile: Profile) -> list[Refusal]:
    """What kubectl refuses in an object.

    :param how: its :func:`claimcheck.answers.handling.handling_of`: what is sent to the server, the server refuses by itself.
    """
    if sender not in (APPLY, SERVER_SIDE, CREATE_ONLY):
        return []
    found: list[Refusal] = []
    if how in (ASK, NOT_SERVED):
        if how == ASK and sender != CREATE_ONLY and _needs_generated_name(manifest.value):
            found.append(_NO_GENERATED_NAME)
    elif is_manifest(manifest.value):
        if unreadable := metadata_problem(manifest.value):
            return [(WRONG_TYPE, *unreadable)]
        if is_of_kubernetes(manifest.value):
            found += _of_name(manifest.value, sender)
    if manifest.listed_as:
        problems = item_problems(manifest.value, manifest.listed_as, profile)
        found += ((WRONG_TYPE, *problem) for problem in problems)
    return found


_NO_GENERATED_NAME: Refusal = (
    GENERATED_NAME,
    ("metadata", "generateName"),
    "cannot use generate name with apply",
)


def _needs_generated_name(value: Object) -> bool:
    metadata = mapping(value, "metadata")
    return bool(text(metadata, "generateName")) and not text(metadata, "name")


def _of_name(value: Object, sender: str) -> list[Refusal]:
    """What is wrong with the name of an object that the server is not asked about here, as far as it is so for any kind."""
    name, path = text(mapping(value, "metadata"), "name"), ("metadata", "name")
    if name:
        found = [] if sender == CREATE_ONLY else path_segment(name)
        return [(INVALID, path, f'invalid resource name "{name}": [{each.detail}]') for each in found]
    is_generated = _needs_generated_name(value)
    if sender != CREATE_ONLY:
        return [_NO_GENERATED_NAME if is_generated else (REQUIRED, path, "resource name may not be empty")]
    if is_generated or split_api_version(str(value["apiVersion"]))[0] in _QUESTIONS:
        return []
    return [(REQUIRED, path, "Required value: name or generateName is required")]


# What a request that changes a stored object makes of it: an applied manifest, or a patch.


class Change:
    """How stored objects are changed.

    :param manager: who applies on the server's side.
    :param force: whether fields are taken away from other managers.
    :param patch: the document of ``--patch-file``, if it is given.
    """

    def __init__(self, *, manager: str, force: bool, patch: Document | None, patch_type: str) -> None:
        self.manager = manager
        self.force = force
        self.patch = patch
        self.patch_type = patch_type

    def applied(self, stored: Object | None, configuration: Object, namespace: str) -> Object:
        """The object as server-side apply makes it, a new one if none is stored.

        :raises ChangeRefused: if the server does not apply it, or fields belong to other managers.
        """
        from cluster.configuration_as_yaml import ConfigurationRefused, read_as_yaml
        from cluster.field_ownership import FieldConflict, check_configuration, server_side_applied

        try:
            configuration = read_as_yaml(configuration)
            if stored is None:
                check_configuration(configuration, namespace)
                return configuration
            return server_side_applied(stored, configuration, self.manager, force=self.force)
        except ConfigurationRefused as error:
            raise ChangeRefused(PATCH_REFUSED, str(error), error.path) from None
        except FieldConflict as error:
            raise ChangeRefused(FIELD_CONFLICT, str(error)) from None

    def patched(self, stored: Object) -> Object:
        """The object as the patch makes it.

        :raises ChangeRefused: if it cannot.
        """
        from cluster.patching import PatchRefused, patched

        assert self.patch is not None
        patch: Any = self.patch.value
        try:
            return patched(stored, patch, self.patch_type)
        except PatchRefused as error:
            raise ChangeRefused(PATCH_REFUSED, str(error)) from None

    def in_patch(self, value: Object) -> Document:
        """An object whose parts are looked up in the patch: what is wrong with them has been written there."""
        assert self.patch is not None
        return Document(self.patch.source, self.patch.index, self.patch.chunk, value)
