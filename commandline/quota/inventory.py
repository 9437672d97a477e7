"""What is there before the account begins: classes, quotas, namespaces, and the objects that are charged already."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from commandline.asking import answer_to_create, group_of, name_of, namespace_of
from commandline.results import Failure, Result
from commandline.treatment import ASK, CONTEXT, treatment
from quota import amounts
from quota.amounts import Amounts
from quota.device_classes import ExtendedResources
from quota.explanation import User
from quota.namespace import HUB, Namespace
from quota.resource_quotas import ResourceQuota, from_object, review
from resourceapi.decoding import DecodingError
from resourceapi.model.quotas import KIND as QUOTA_KIND
from resourceapi.model.versions import GROUP
from resourceapi.objects import Object
from resourceapi.releases import split_api_version
from validation.requests import Answer

if TYPE_CHECKING:
    from commandline.context import Context
    from commandline.treatment import Manifest
    from validation.server import Server

CLAIM, TEMPLATE, CLASS = "ResourceClaim", "ResourceClaimTemplate", "DeviceClass"


class Inventory:
    """Namespaces with their quotas, and who is charged to them."""

    def __init__(self, server: Server, context: Context, default_namespace: str) -> None:
        self.server = server
        self.context = context
        self.resources = ExtendedResources()
        self.failures: list[Failure] = []
        self.before: dict[tuple[str, str], Amounts] = {}
        self._default_namespace = default_namespace
        self._namespaces: dict[str, Namespace] = {}
        self._users: dict[str, dict[tuple[str, str], Amounts]] = {}

    def learn(self, found: Iterable[Manifest | Result | Failure]) -> list[Manifest]:
        """Note quotas, classes and namespaces; returns what else there is that is counted."""
        counted = []
        for manifest in found:
            if isinstance(manifest, Failure):
                self.failures.append(manifest)
            elif isinstance(manifest, Result):
                finding = manifest.findings[0]
                self.failures.append(Failure(manifest.file, f"line {finding.line}: {finding.message}"))
            elif (manifest.value.get("apiVersion"), manifest.value.get("kind")) == ("v1", QUOTA_KIND):
                self._add_quota(manifest)
            elif (how := treatment(manifest.value)) == CONTEXT:
                self.context.learn(manifest.value)
            elif how == ASK:
                counted.append(manifest)
        for manifest in counted:
            if manifest.value["kind"] == CLASS and (obj := self._stored(manifest)) is not None:
                self.resources.add(obj)
        return [manifest for manifest in counted if manifest.value["kind"] != CLASS]

    def charge(self, manifests: Iterable[Manifest]) -> None:
        """Charge what is stored already, whether it fits or not."""
        found = [(manifest, obj) for manifest in manifests if (obj := self._stored(manifest)) is not None]
        for manifest, obj in found:
            content = self.namespace(self.namespace_of(manifest))
            content.store(group_of(manifest), manifest.value["kind"], obj)
        for manifest, obj in found:
            namespace, kind = self.namespace_of(manifest), manifest.value["kind"]
            evaluator = self.namespace(namespace).evaluator(group_of(manifest), kind)
            if evaluator is not None:
                self.note_user(namespace, kind, name_of(obj), evaluator.usage(obj))

    def open(self) -> None:
        """Begin the account with what a quota's status says is used, or with what is stored if that is more."""
        for namespace, content in self._namespaces.items():
            total: Amounts = {}
            for usage in self._users.get(namespace, {}).values():
                total = amounts.added(total, usage)
            content.quotas = tuple(_with_usage(quota, total) for quota in content.quotas)
            self.before.update(((namespace, quota.name), quota.used) for quota in content.quotas)

    def ask(self, manifest: Manifest) -> Answer:
        """What the server answers when an object is created."""
        return answer_to_create(self.server, manifest, self._default_namespace)

    def in_hub(self, obj: Object) -> Object:
        """An object as the server stores it in v1."""
        return self.server.read(obj, HUB) if split_api_version(obj["apiVersion"])[0] == GROUP else obj

    def namespace(self, name: str) -> Namespace:
        if name not in self._namespaces:
            self._namespaces[name] = Namespace(self.server, self.resources)
        return self._namespaces[name]

    def namespaces(self) -> list[tuple[str, Namespace]]:
        return sorted(self._namespaces.items())

    def namespace_of(self, manifest: Manifest) -> str:
        return namespace_of(manifest, self._default_namespace)

    def note_user(self, namespace: str, kind: str, name: str, usage: Amounts) -> None:
        """Remember whom usage is charged to; what is noted for the same object adds up."""
        users = self._users.setdefault(namespace, {})
        users[kind, name] = amounts.added(users.get((kind, name), {}), usage)

    def users_of(self, namespace: str, resource: str) -> list[User]:
        """Who uses how much of a resource."""
        return [
            User("claim" if kind == CLAIM else kind, name, usage[resource])
            for (kind, name), usage in self._users.get(namespace, {}).items()
            if resource in usage
        ]

    def _add_quota(self, manifest: Manifest) -> None:
        namespace = self.namespace_of(manifest)
        answer = review(self.server, manifest.value, namespace)
        if not answer.accepted:
            self._fail(manifest, answer.message)
            return
        quota = from_object(manifest.value)._replace(namespace=namespace)
        content = self.namespace(namespace)
        others = tuple(other for other in content.quotas if other.name != quota.name)
        content.quotas = (*others, quota)

    def _stored(self, manifest: Manifest) -> Object | None:
        """A stored object in v1, with the defaults that a file may leave out; None if it cannot be one."""
        value, answer = manifest.value, self.ask(manifest)
        if answer.accepted and answer.object is not None:
            kept: Object = {key: value[key] for key in ("metadata", "status") if key in value}
            return {**self.in_hub(answer.object), **kept}
        if group_of(manifest) == GROUP:
            # An older release may have stored it, or another gate allowed it.
            with suppress(DecodingError, KeyError):
                return self.in_hub(value)
        self._fail(manifest, answer.message)
        return None

    def _fail(self, manifest: Manifest, message: str) -> None:
        self.failures.append(Failure(manifest.file, f"line {manifest.line}: {message}"))


def _with_usage(quota: ResourceQuota, total: Amounts) -> ResourceQuota:
    used = dict(quota.used)
    for name, amount in used.items():
        if name in total and total[name].cmp(amount) > 0:
            used[name] = total[name]
    return quota._replace(used=used)
