"""What to do with an object of the input: send it to the server, lint it, read it as context, or skip it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from documents.document import Document
from resourceapi.kinds import kind_of
from resourceapi.manifests import mapping, text
from resourceapi.model import workloads
from resourceapi.model.versions import GROUP, OWN_GROUP

if TYPE_CHECKING:
    from classic.migration.mapping import Mappings


ASK, NOT_SERVED, CONTEXT, SKIP, LINT = "ask", "not served", "context", "skip", "lint"
CONTEXT_KINDS = frozenset((("v1", "Namespace"), ("v1", "Node")))


_ADMISSION = "admissionregistration.k8s.io"
#: What has rules about requests with objects of the group. Nothing is said of what the server answers to it itself.
ADMISSION_KINDS = frozenset(
    (
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
    )
)


def was_read_from_server(value: dict[str, Any]) -> bool:
    """Whether an object has what only a server gives it, as in the output of `kubectl get -o yaml`."""
    metadata = mapping(value, "metadata")
    return bool(text(metadata, "uid") and text(metadata, "resourceVersion"))


def handling_of(value: dict[str, Any]) -> str:
    """What to do with an object."""
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str) or not api_version or not kind:
        return _untyped(value)
    if kind_of(api_version, kind) is not None:
        return ASK
    if api_version.startswith((GROUP + "/", OWN_GROUP + "/")):
        return NOT_SERVED
    group, _, version = api_version.rpartition("/")
    if version == "v1" and kind in workloads.KINDS.get(group, ()):
        return ASK
    if (api_version, kind) in CONTEXT_KINDS:
        return CONTEXT
    if group == _ADMISSION and kind in ADMISSION_KINDS:
        return LINT
    from advice.hints.group import is_of_the_group

    return NOT_SERVED if is_of_the_group(api_version, kind) else SKIP


def _untyped(value: dict[str, Any]) -> str:
    """An object without apiVersion or kind is an error if it looks like one of the group, and skipped otherwise."""
    from advice.hints.group import KINDS_OF_THE_GROUP
    from resourceapi.phrases import nearest

    kind = value.get("kind", value.get(nearest("kind", value)))
    if isinstance(kind, str) and (kind in KINDS_OF_THE_GROUP or kind in workloads.RESOURCES):
        return NOT_SERVED
    api_version = value.get("apiVersion")
    return NOT_SERVED if isinstance(api_version, str) and api_version.startswith((GROUP, OWN_GROUP)) else SKIP


def can_migrate(found: Any) -> bool:
    """Whether an object can migrate, if what it refers to is among the files.

    :param found: a manifest; of one that is in no file nothing is known, so that it can.
    """
    if not isinstance(found, Document):
        return True
    from classic.migration.migration import Migration
    from classic.migration.remarks import ERROR

    migration = Migration([found], _mappings(), "default")
    return not any(remark.severity == ERROR and not remark.of_others for remark in migration.remarks)


@cache
def _mappings() -> Mappings:
    from classic.migration.mapping import built_in

    return built_in()
