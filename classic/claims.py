"""What a driver's controller has to know of ResourceClaims (v1alpha2) and of the pods that use them."""

from __future__ import annotations

from typing import Any

from resourceapi.errors import ClaimcheckError
from resourceapi.manifests import entries, mapping, name_of, text, uid_of
from resourceapi.model.v1alpha2 import WAIT_FOR_FIRST_CONSUMER
from resourceapi.objects import Object
from resourceapi.phrases import shortened
from resourceapi.records.pods import PodClaim

# Why a step of a controller did not come to its end.

#: What is kept of the text of an error that a driver raises.
MOST_CHARACTERS = 2_000
#: What mistakes in a program raise: their texts say little without the type.
MISTAKES = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, TypeError)


class SyncError(ClaimcheckError):
    """What users and administrators have to know of; the step is tried again. What it comes from is its cause."""


class NotYet(ClaimcheckError):
    """Something else has to happen first, which is nobody's fault; the step is tried again."""


def because(what: str, error: BaseException) -> SyncError:
    """An error with its cause, to be raised.

    :param what: what failed.
    """
    found = SyncError(f"{what}: {error_text(error)}")
    found.__cause__ = error
    return found


def together(errors: list[SyncError]) -> SyncError:
    """Several errors as one, in bounded length; a single one stays as it is."""
    if len(errors) == 1:
        return errors[0]
    found = SyncError(shortened("; ".join(map(str, errors)), MOST_CHARACTERS))
    found.__cause__ = ExceptionGroup("several claims failed", errors)
    return found


def error_text(error: BaseException) -> str:
    """What an error says, in bounded length; its type if it says nothing, or is a mistake in a program."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - a driver's exception may fail at that, too
        said = ""
    name = type(error).__name__
    if isinstance(error, MISTAKES) and said:
        said = f"{name}: {said}"
    return shortened(said or name, MOST_CHARACTERS)


#: Drivers protect the claims for which they hold something from deletion with a finalizer of this name behind their own.
PROTECTION = "deletion-protection"


def finalizer_of(driver_name: str) -> str:
    """The finalizer of a driver on the claims for which it may hold something."""
    return f"{driver_name}/{PROTECTION}"


def namespace_of(obj: Object) -> str:
    """The namespace of a stored object."""
    return text(mapping(obj, "metadata"), "namespace")


def is_leaving(obj: Object) -> bool:
    """Whether somebody has deleted an object that finalizers keep."""
    return bool(mapping(obj, "metadata").get("deletionTimestamp"))


def is_allocated(claim: Object) -> bool:
    """Whether an allocation is stored."""
    return mapping(claim, "status").get("allocation") is not None


def is_reserved(claim: Object) -> bool:
    """Whether a pod may be using it."""
    return bool(entries(mapping(claim, "status"), "reservedFor"))


def is_deallocation_requested(claim: Object) -> bool:
    """Whether the scheduler wants the allocation to be given up."""
    return mapping(claim, "status").get("deallocationRequested") is True


def allocation_mode(claim: Object) -> str:
    """When the claim is to be allocated."""
    return text(mapping(claim, "spec"), "allocationMode") or WAIT_FOR_FIRST_CONSUMER


def class_name_of(claim: Object) -> str:
    """The name of its ResourceClass."""
    return text(mapping(claim, "spec"), "resourceClassName")


def has_finalizer(claim: Object, finalizer: str) -> bool:
    """Whether a driver may hold something for the claim."""
    return finalizer in entries(mapping(claim, "metadata"), "finalizers")


def claim_name(entry: PodClaim) -> str | None:
    """The name of the claim of an entry of ``spec.resourceClaims``; None if the pod needs none for it.

    :raises NotYet: if the claim is still to be made from its template.
    :raises SyncError: if the entry names neither a claim nor a template.
    """
    if entry.is_generated and not entry.template:
        raise SyncError("source has neither resourceClaimName nor resourceClaimTemplateName")
    if entry.is_needed and not entry.claim:
        raise NotYet("the claim has not been made from its template yet")
    return entry.claim or None


def is_controlled_by(obj: Object, owner: Object) -> bool:
    """Whether an object belongs to another one (``metadata.ownerReferences`` with ``controller: true``)."""
    return any(
        mapping(each).get("controller") is True and text(each, "uid") == uid_of(owner)
        for each in entries(mapping(obj, "metadata"), "ownerReferences")
    )


def with_finalizer(claim: Object, finalizer: str) -> Object:
    """The claim with a finalizer."""
    return _with_finalizers(claim, [*entries(mapping(claim, "metadata"), "finalizers"), finalizer])


def without_finalizer(claim: Object, finalizer: str) -> Object:
    """The claim without a finalizer."""
    found = entries(mapping(claim, "metadata"), "finalizers")
    return _with_finalizers(claim, [each for each in found if each != finalizer])


def with_allocation(claim: Object, driver_name: str, allocation: Object, consumer: Object | None) -> Object:
    """The claim with an allocation, reserved for a consumer if there is one."""
    status = {**mapping(claim, "status"), "driverName": driver_name, "allocation": allocation}
    if consumer is not None:
        status["reservedFor"] = [*entries(status, "reservedFor"), consumer]
    return {**claim, "status": status}


def without_allocation(claim: Object) -> Object:
    """The claim as it is before it is allocated."""
    gone = ("allocation", "driverName", "deallocationRequested")
    status = {key: value for key, value in mapping(claim, "status").items() if key not in gone}
    return {**claim, "status": status}


def pod_reference(pod: Object) -> Object:
    """A pod as the consumer of a claim."""
    return {"resource": "pods", "name": name_of(pod), "uid": uid_of(pod)}


def controlling_owner(pod: Object) -> Object:
    """A pod as the owner of what is made for it (:func:`is_controlled_by`)."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name_of(pod), "uid": uid_of(pod)}
    return {**owner, "controller": True, "blockOwnerDeletion": True}


def _with_finalizers(claim: Object, finalizers: list[Any]) -> Object:
    metadata = {key: value for key, value in mapping(claim, "metadata").items() if key != "finalizers"}
    if finalizers:
        metadata["finalizers"] = finalizers
    return {**claim, "metadata": metadata}
