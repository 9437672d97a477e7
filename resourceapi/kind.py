"""What a kind of ``resource.k8s.io`` is, apart from its fields and rules; :mod:`resourceapi.kinds` lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from resourceapi.model.versions import GROUP, V1
from resourceapi.objects import Object
from resourceapi.releases import ALL_VERSIONS, Profile, is_served
from resourceapi.schema import Schema

Default = Callable[[Object, str, str], None]
"""Fills in the defaults of an object of the hub, given the version that it came in and the time (RFC 3339)."""


#: The release that serves the API by default.
GA_SINCE = 34
UNRELEASED = 1_000_000
"""In place of the release that introduced a version: none has; an enhancement proposal describes it."""


class Lifecycle:
    """The releases (minor numbers) in which one version of a kind appears, is deprecated and goes away."""

    __slots__ = ("deprecated", "introduced", "removed", "replacement")

    def __init__(self, introduced: int, deprecated: int = 0, removed: int = 0, replacement: str = "") -> None:
        self.introduced = introduced
        self.deprecated = deprecated
        self.removed = removed
        self.replacement = replacement


class Column:
    """A column that ``kubectl get`` shows: its title, and the path and type (OpenAPI, or ``date``) of its value."""

    __slots__ = ("path", "title", "type")

    def __init__(self, title: str, path: str, type: str = "string") -> None:
        self.title = title
        self.path = path
        self.type = type


class Kind:
    """One kind.

    :param name: the name of the kind and of its struct in the schemas.
    :param resource: the plural, as URLs have it.
    :param namespaced: whether its objects are in a namespace.
    :param versions: its versions, newest first.
    :param former: versions that only earlier releases have.
    :param default: what fills in its defaults.
    :param claim_spec: where an object holds the spec of a claim; None for kinds that hold none.
    :param columns: what ``kubectl get`` shows of the built-in kind, as far as a path can tell it.
    :param selectable_fields: paths of fields by which the server selects when it lists.
    :param diagnostic: whether its objects only ask for a report about the cluster, so that nothing depends on them.
    :param further_group: another API group that has the kind, with the same fields, as a CRD; empty if there is none.
    :param schema: the structs of its hub.
    """

    def __init__(
        self,
        name: str,
        resource: str,
        *,
        namespaced: bool = False,
        versions: Mapping[str, Lifecycle],
        default: Default | None = None,
        claim_spec: tuple[str, ...] | None = None,
        columns: tuple[Column, ...] = (),
        selectable_fields: tuple[str, ...] = (),
        diagnostic: bool = False,
        further_group: str = "",
        former: Mapping[str, Lifecycle] = MappingProxyType({}),
        schema: Schema = V1,
    ) -> None:
        self.name = name
        self.resource = resource
        self.namespaced = namespaced
        self.versions = versions
        self.former = former
        self.default = default
        self.claim_spec = claim_spec
        self.columns = columns
        self.selectable_fields = selectable_fields
        self.diagnostic = diagnostic
        self.further_group = further_group
        self.schema = schema

    @property
    def has_status(self) -> bool:
        """Whether its objects have a status, which is changed through a URL of its own."""
        return "status" in self.schema[self.name].by_name

    @property
    def groups(self) -> tuple[str, ...]:
        """The API groups that have the kind."""
        return (GROUP, self.further_group) if self.further_group else (GROUP,)

    @property
    def proposed(self) -> bool:
        """Whether no release has the kind, only an enhancement proposal."""
        return all(lifecycle.introduced == UNRELEASED for lifecycle in self.versions.values())

    def path_in(self, group: str) -> str:
        """Where an API server has the kind in its newest version, in one of its groups."""
        return f"/apis/{group}/{next(iter(self.versions))}/{self.resource}"

    def lifecycle(self, version: str) -> Lifecycle | None:
        """The lifecycle of a version, if the kind has or had it."""
        return self.versions.get(version) or self.former.get(version)

    def served(self, version: str, minor: int) -> bool:
        """Whether release 1.``minor`` can serve the version (perhaps only when asked to)."""
        lifecycle = self.lifecycle(version)
        if lifecycle is None or minor < lifecycle.introduced:
            return False
        return not lifecycle.removed or minor < lifecycle.removed

    def can_be_served_by(self, version: str, profile: Profile) -> bool:
        """Whether a server can serve the version in ``resource.k8s.io``, perhaps only when asked to."""
        if self.proposed:
            return version in self.versions and profile.proposed_kinds
        return self.served(version, profile.minor)

    def served_by(self, version: str, profile: Profile, group: str = GROUP) -> bool:
        """Whether a server serves the version; the further group, which a CRD brings, any server does."""
        if group and group == self.further_group:
            return version in self.versions
        # of custom resources it serves all unless it is told not to; who asks a release before 1.34 has told it to
        apis = {**ALL_VERSIONS, **profile.apis} if self.proposed or profile.minor < GA_SINCE else profile.apis
        return self.can_be_served_by(version, profile) and is_served(version, self.resource, apis)

    def newest_served_by(self, profile: Profile) -> str:
        """The newest version that a server serves; empty if it serves none."""
        return next((version for version in self.versions if self.served_by(version, profile)), "")


def _holds(schema: Schema, struct: str, wanted: str) -> bool:
    """Whether a struct is, or has in it, another; none of the API contains itself."""
    return struct == wanted or any(
        _holds(schema, field.type.struct_within, wanted)
        for field in schema[struct].fields
        if field.type.struct_within
    )
