"""The objects as they are stored, for requests that update them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from advice.findings import Result
from claimcheck.answers.handling import ASK, handling_of
from claimcheck.answers.outcome import Failure
from conversion.hub import hub_object
from resourceapi.decoding import DecodingError
from resourceapi.errors import Unanswerable
from resourceapi.kinds import KINDS, kind_in, kind_of
from resourceapi.manifests import mapping
from resourceapi.recognition import with_sorted_keys
from resourceapi.releases import split_api_version
from validation.server import rules_of

if TYPE_CHECKING:
    from documents.manifest import Manifest
    from validation.server import Server

# group, kind, namespace, name
Identity = tuple[str, str, str, str]


class StoredObjects:
    """Objects as the server has them: in the version of the request, with defaults filled in.

    So the file may be what `kubectl get -o yaml` writes, or the manifest that was applied.

    :ivar has_managers: whether all objects that were used have managedFields.
    """

    def __init__(
        self, found: Iterable[Manifest | Result | Failure], server: Server, namespace: str, source: str
    ) -> None:
        """Read them.

        :param namespace: of objects that name none.
        :param source: where they come from, for messages.
        :raises Unanswerable: if some of them cannot be read.
        """
        self._source = source
        self.server = server
        self.used = False
        self.has_managers = True
        self._objects: dict[Identity, dict[str, Any]] = {}
        for each in found:
            if isinstance(each, Failure):
                raise Unanswerable(f"{source}: {each.message}")
            if isinstance(each, Result):
                finding = each.findings[0]
                raise Unanswerable(f"{source}:{finding.line}: {finding.message}")
            if handling_of(each.value) == ASK:
                self._objects[_identity(each.value, namespace)] = with_sorted_keys(each.value)

    def of(self, result: Result) -> dict[str, Any] | None:
        """The stored object that an object of the input would update, or None.

        :raises Unanswerable: if the server cannot read it.
        """
        group = result.api_version.rpartition("/")[0]
        found = self._objects.get((group, result.kind, result.namespace, result.name))
        if found is None:
            return None
        self.used = True
        self.has_managers &= bool(mapping(found, "metadata").get("managedFields"))
        if kind_in(group, result.kind):
            return self._as_stored(found, result)
        self._insist_on_reading(found, result)
        return found

    def _insist_on_reading(self, found: dict[str, Any], result: Result) -> None:
        """A pod, or an object that holds a template of pods, is given to the server as it is."""
        try:
            insist_on_reading(found, result, self.server)
        except DecodingError as error:
            raise self._unreadable(result, error) from None

    def _as_stored(self, value: dict[str, Any], result: Result) -> dict[str, Any]:
        schemas, version = self.server.profile.schemas, result.api_version.rpartition("/")[2]
        source = str(value["apiVersion"]).rpartition("/")[2]
        if version not in schemas or source not in schemas:
            return value  # the server does not know the version of the object, or will not
        try:
            return as_stored(value, result, version, self.server)
        except DecodingError as error:
            raise self._unreadable(result, error) from None

    def _unreadable(self, result: Result, error: DecodingError) -> Unanswerable:
        return Unanswerable(f"{self._source}: {result.title}: {error.text}")

    def insist_on_use(self) -> None:
        """Check that they belong to the input.

        :raises Unanswerable: if none was of an object of the input; they are most likely the wrong ones.
        """
        if not self.used:
            raise Unanswerable(
                f"{self._source} has none of the given objects (kind, namespace and name must agree)"
            )


def insist_on_reading(value: dict[str, Any], result: Result, server: Server) -> None:
    """Check that a server can have stored an object, in the version of the one that would update it.

    :raises DecodingError: if it cannot be read.
    """
    group, _, version = result.api_version.rpartition("/")
    rules = rules_of(group, result.kind, version, server.profile)
    if rules is not None:
        rules.read_stored(value, version, server)


def as_stored(value: dict[str, Any], result: Result, version: str, server: Server) -> dict[str, Any]:
    """An object of the group as a server has it: in a version, in its namespace, and with defaults filled in.

    :raises DecodingError: if it cannot be read.
    """
    hub = hub_object(value, server.profile.schemas, kind=result.kind, defaults=server.now())
    if result.namespace:
        hub.setdefault("metadata", {})["namespace"] = result.namespace
    group = split_api_version(value["apiVersion"])[0]
    return server.present(result.kind, f"{group}/{version}", hub)


def _identity(value: dict[str, Any], namespace: str) -> Identity:
    api_version, kind = str(value["apiVersion"]), str(value["kind"])
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    row = kind_of(api_version, kind) or KINDS.get(kind)
    namespaced = row is None or row.namespaced
    where = str(metadata.get("namespace") or namespace) if namespaced else ""
    return api_version.rpartition("/")[0], kind, where, str(metadata.get("name") or "")
