"""Names of what a ResourceQuota can limit, as far as claims and pods use them (``spec.hard``), and the extended resources of classes.

Pods ask for the devices of a class by its extended resources (KEP-5004).
"""

from __future__ import annotations

from collections.abc import Iterable

from resourceapi.model.versions import GROUP
from resourceapi.quantity import Amounts
from resourceapi.records.classes import IMPLICIT_PREFIX, DeviceClass

COUNT = "count/"
CLAIM_COUNT = f"{COUNT}resourceclaims.{GROUP}"
CLASS_SUFFIX = f".deviceclass.{GROUP}/devices"
REQUESTS = "requests."


def object_count(resource: str, group: str) -> str:
    """``count/resourceclaims.resource.k8s.io``: the number of objects of a kind."""
    return f"{COUNT}{resource}.{group}" if group else COUNT + resource


def devices_of(device_class: str) -> str:
    """``gpu.deviceclass.resource.k8s.io/devices``: the devices of a class."""
    return device_class + CLASS_SUFFIX


def class_of(name: str) -> str:
    """The class whose devices a name counts, whichever way; empty for any other name."""
    if name.endswith(CLASS_SUFFIX):
        return name.removesuffix(CLASS_SUFFIX)
    implicit = REQUESTS + IMPLICIT_PREFIX
    return name.removeprefix(implicit) if name.startswith(implicit) else ""


class ExtendedResources:
    """Which resources stand for devices of which classes; of the cluster's DeviceClasses."""

    def __init__(self, classes: Iterable[DeviceClass] = ()) -> None:
        """Note these classes."""
        self._of_class: dict[str, str] = {}
        self._names: set[str] = set()
        for device_class in classes:
            self.add(device_class)

    def add(self, device_class: DeviceClass) -> None:
        """Note a class that is new or has changed."""
        name, resource = device_class.name, device_class.extended_resource
        self._names.add(IMPLICIT_PREFIX + name)
        if resource:
            self._of_class[name] = resource
            self._names.add(resource)

    def of_class(self, device_class: str) -> str:
        """The resource that the class names itself, empty if it names none."""
        return self._of_class.get(device_class, "")

    def classes_counted_by(self, name: str) -> set[str]:
        """The classes whose devices a name in a quota counts."""
        device_class = class_of(name)
        if device_class:
            return {device_class}
        resource = name.removeprefix(REQUESTS)
        return {found for found, named in self._of_class.items() if named == resource and resource != name}

    def __contains__(self, resource: str) -> bool:
        """Whether a resource stands for the devices of some class."""
        return resource in self._names

    def charges(self, usage: Amounts, in_pod: Amounts) -> Amounts:
        """A claim's charges in extended resources.

        Its devices count as if a pod had asked for them: as ``requests.deviceclass.resource.kubernetes.io/<class>``,
        whether there is such a class or not, and as what the class names itself.  Where classes share a resource's
        name, the server takes the charge of any one of them; here it is the largest.

        :param usage: the claim's charges by class.
        :param in_pod: what the pod has been charged for already that the scheduler made the claim for.
        """
        found: Amounts = {}
        for name, amount in usage.items():
            device_class = name.removesuffix(CLASS_SUFFIX)
            if not device_class or device_class == name:
                continue
            found[REQUESTS + IMPLICIT_PREFIX + device_class] = amount
            shared = REQUESTS + self.of_class(device_class)
            if shared != REQUESTS and (shared not in found or amount.cmp(found[shared]) > 0):
                found[shared] = amount
        left = {
            name: amount.sub(in_pod[name]) if name in in_pod else amount for name, amount in found.items()
        }
        return {name: amount for name, amount in left.items() if amount.sign() > 0}
