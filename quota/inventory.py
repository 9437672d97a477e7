"""What exists before new objects are charged: classes, quotas, and the objects that count already."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from quota.explanation import User, largest
from quota.names import ExtendedResources
from quota.namespace import HUB, Namespace
from quota.resource_quotas import ResourceQuota, from_object, review
from resourceapi import kinds
from resourceapi.decoding import DecodingError
from resourceapi.field_errors import Path
from resourceapi.manifests import displayed_name, group_of, namespace_of
from resourceapi.model.versions import GROUP
from resourceapi.objects import Object
from resourceapi.quantity import Amounts, Quantity, added
from resourceapi.records.classes import read_device_class
from resourceapi.records.pod_groups import CLAIMS_GATE, PodGroup, read_pod_group
from validation.requests import Answer, create_request

if TYPE_CHECKING:
    from documents.manifest import Manifest
    from validation.server import Server

CLAIM, TEMPLATE, CLASS = kinds.CLAIM.name, kinds.CLAIM_TEMPLATE.name, kinds.DEVICE_CLASS.name

# With more quotas in a namespace, each new object would be compared with all of them.
MAX_QUOTAS = 100


class QuotaInventory:
    """Namespaces with their quotas, and the objects that are charged to them.

    :param default_namespace: the namespace of manifests that do not name one.
    :param reject: is called with each manifest that cannot be used, the reason, and the field.
    """

    def __init__(
        self, server: Server, default_namespace: str, reject: Callable[[Manifest, str, Path], None]
    ) -> None:
        self.server = server
        self.resources = ExtendedResources()
        #: what was used of each quota, by namespace and name, before new objects are charged
        self.before: dict[tuple[str, str], Amounts] = {}
        #: by namespace and name
        self.pod_groups: dict[tuple[str, str], PodGroup] = {}
        self._default_namespace = default_namespace
        self._reject = reject
        self._namespaces: dict[str, Namespace] = {}
        self._users: dict[str, dict[tuple[str, str], Amounts]] = {}
        self._largest: dict[tuple[str, str], list[User]] = {}

    def add_class(self, manifest: Manifest) -> None:
        """Add a DeviceClass, which may stand for an extended resource."""
        if (obj := self._stored(manifest)) is not None:
            self.resources.add(read_device_class(obj))

    def add_quota(self, manifest: Manifest) -> None:
        """Add a ResourceQuota; it replaces one of the same name."""
        namespace = self.namespace_of(manifest)
        answer = review(self.server, manifest.value, namespace)
        if not answer.accepted:
            self._reject(manifest, answer.message, ())
            return
        quota = from_object(manifest.value)._replace(namespace=namespace)
        content = self.namespace(namespace)
        others = tuple(other for other in content.quotas if other.name != quota.name)
        if len(others) == MAX_QUOTAS:
            problem = f"namespace {namespace} has more than {MAX_QUOTAS} ResourceQuotas: no object is charged to this one"
            self._reject(manifest, problem, ())
            return
        content.quotas = (*others, quota)

    def add_pod_group(self, manifest: Manifest) -> None:
        """Add a PodGroup, whose claims are created once for all its pods, unless servers drop them."""
        if CLAIMS_GATE in self.server.profile.gates:
            group = read_pod_group(manifest.value)
            self.pod_groups[self.namespace_of(manifest), group.name] = group

    def charge(self, manifests: Iterable[Manifest]) -> None:
        """Charge existing objects, whether they fit or not."""
        found = [(manifest, obj) for manifest in manifests if (obj := self._stored(manifest)) is not None]
        for manifest, obj in found:
            content = self.namespace(self.namespace_of(manifest))
            content.store(group_of(manifest.value), manifest.value["kind"], obj)
        for manifest, obj in found:
            self._note_stored(
                self.namespace_of(manifest), group_of(manifest.value), manifest.value["kind"], obj
            )

    def hold(self, namespace: str, group: str, kind: str, obj: Object) -> None:
        """Charge an existing object (v1 with its defaults), which is not charged to another one."""
        self.namespace(namespace).store(group, kind, obj)
        self._note_stored(namespace, group, kind, obj)

    def _note_stored(self, namespace: str, group: str, kind: str, obj: Object) -> None:
        evaluator = self.namespace(namespace).evaluator(group, kind)
        if evaluator is not None:
            self.note_user(namespace, kind, displayed_name(obj), evaluator.usage(obj))

    def open_all(self) -> None:
        """Set the usage of all quotas."""
        for namespace in self._namespaces:
            self.open(namespace)

    def open(self, namespace: str) -> None:
        """Set the usage of each quota of a namespace: that of its status, or of the existing objects if that is more."""
        content, total = self.namespace(namespace), dict[str, Quantity]()
        for usage in self._users.get(namespace, {}).values():
            total = added(total, usage)
        content.quotas = tuple(_with_usage(quota, total) for quota in content.quotas)
        self.before.update(((namespace, quota.name), quota.used) for quota in content.quotas)

    def ask(self, manifest: Manifest) -> Answer:
        """What the server answers when an object is created."""
        return self.server.handle(create_request(manifest.value, self._default_namespace))

    def in_hub(self, obj: Object) -> Object:
        """An object as the server stores it in v1."""
        return self.server.read(obj, HUB) if group_of(obj) == GROUP else obj

    def namespace(self, name: str) -> Namespace:
        """A namespace, empty if nothing was added to it yet."""
        if name not in self._namespaces:
            self._namespaces[name] = Namespace(self.server, self.resources)
        return self._namespaces[name]

    def namespaces(self) -> list[tuple[str, Namespace]]:
        """All namespaces by name, sorted."""
        return sorted(self._namespaces.items())

    def namespace_of(self, manifest: Manifest) -> str:
        """The namespace of a manifest, or the default."""
        return namespace_of(manifest.value, self._default_namespace)

    def note_user(self, namespace: str, kind: str, name: str, usage: Amounts) -> None:
        """Remember which object usage is charged to; usage of the same object adds up."""
        users = self._users.setdefault(namespace, {})
        total = users[kind, name] = added(users.get((kind, name), {}), usage)
        for resource in usage:
            user = User("claim" if kind == CLAIM else kind, name, total[resource])
            others = (other for other in self.users_of(namespace, resource) if other[:2] != user[:2])
            self._largest[namespace, resource] = largest((*others, user))

    def users_of(self, namespace: str, resource: str) -> list[User]:
        """The objects that use most of a resource, with their amounts, the largest first."""
        return self._largest.get((namespace, resource), [])

    def _stored(self, manifest: Manifest) -> Object | None:
        """A stored object in v1, with the defaults that a file may leave out; None if it cannot be one."""
        value, answer = manifest.value, self.ask(manifest)
        if answer.accepted and answer.object is not None:
            kept: Object = {key: value[key] for key in ("metadata", "status") if key in value}
            return {**self.in_hub(answer.object), **kept}
        if group_of(manifest.value) == GROUP:
            # An older release may have stored it, or another gate allowed it.
            try:
                return self.in_hub(value)
            except DecodingError as error:
                self._reject(manifest, error.text, error.path)
                return None
            except KeyError:  # there is no such version
                pass
        self._reject(manifest, answer.message, ())
        return None


def _with_usage(quota: ResourceQuota, total: Amounts) -> ResourceQuota:
    used = dict(quota.used)
    for name, amount in used.items():
        if name in total and total[name].cmp(amount) > 0:
            used[name] = total[name]
    return quota._replace(used=used)
