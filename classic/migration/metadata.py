"""The metadata of an object for another cluster: without what the server and the classic driver have written into it."""

from __future__ import annotations

from typing import Any

from classic.claims import PROTECTION
from classic.migration.remarks import Remarks, members

_OF_SERVER = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
#: How the finalizers end with which classic drivers, and kube-controller-manager, kept allocated claims.
_PROTECTION = (f"/{PROTECTION}", "/delete-protection")


def migrated_metadata(value: dict[str, Any], remarks: Remarks) -> dict[str, Any]:
    """The object with its metadata as somebody would have written it.

    :raises CannotMigrate: if it is no mapping.
    """
    metadata = members(value.get("metadata"), ("metadata",))
    written = [name for name in _OF_SERVER if metadata.get(name) is not None]
    if written:
        remarks.note(("metadata",), f"{', '.join(written)}: written by the server, so left out")
    kept = {name: each for name, each in metadata.items() if name not in _OF_SERVER}
    finalizers = kept.get("finalizers")
    if isinstance(finalizers, list):
        others = [each for each in finalizers if not str(each).endswith(_PROTECTION)]
        if len(others) < len(finalizers):
            remarks.note(("metadata", "finalizers"), "the finalizers of the allocation are left out with it")
        kept["finalizers"] = others
        if not others:
            del kept["finalizers"]
    owners = kept.pop("ownerReferences", None)
    if owners:
        remarks.warn(("metadata", "ownerReferences"), _about_owners(owners))
    return {**value, "metadata": kept} if kept != metadata else value


def _about_owners(owners: Any) -> str:
    owner = owners[0] if isinstance(owners, list) else None
    if isinstance(owner, dict) and owner.get("kind") == "Pod":
        return (
            f"left out: the claim was made from a template for the pod {owner.get('name')}; if the pod and its template "
            "are migrated, the cluster makes it anew, and this object is not needed"
        )
    return "left out: the owner has another uid in another cluster"
