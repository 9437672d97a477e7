"""CustomResourceDefinitions for clusters that do not serve ``resource.k8s.io`` themselves.

They stand in the very same group, with the versions and resources that kube-apiserver would serve, so that clients
find no difference.  Admission and conversion are left to the webhooks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from resourceapi.decoding import fields_of
from resourceapi.kind import Column, Kind
from resourceapi.kinds import KINDS, deprecation_warning
from resourceapi.model.versions import GROUP, SCHEMAS_WITH_PROPOSALS
from resourceapi.objects import Object
from resourceapi.schema import Field, Schema, Type

# Structural OpenAPI schemas of the API, as CustomResourceDefinitions want them.
# They say of what shape an object is, not what must hold for its values: that is for validation, in its
# own words.  So nothing is required, and texts have no formats.  A null is allowed everywhere: to the
# built-in API it is an empty value, which it judges like any other, and some empty lists it returns as
# null.  Only entries that clients merge are never null, as API servers forbid that.

_SCALARS: dict[str, Object] = {
    "string": {"type": "string"},
    "time": {"type": "string"},
    "bool": {"type": "boolean"},
    "int64": {"type": "integer", "format": "int64"},
    "int32": {"type": "integer", "format": "int32"},
    # texts and numbers of all kinds; the API server's own type for that knows integers only
    "quantity": {"x-kubernetes-preserve-unknown-fields": True},
    "raw": {"x-kubernetes-preserve-unknown-fields": True},
}


def struct_schema(schema: Schema, name: str) -> Object:
    """The schema of a struct of a version."""
    properties = {field: _field_schema(schema, each) for field, each in fields_of(schema, name).items()}
    result: Object = {"type": "object", "properties": properties}
    if schema[name].atomic:
        result["x-kubernetes-map-type"] = "atomic"
    return result


def _field_schema(schema: Schema, field: Field) -> Object:
    result = _type_schema(schema, field.type)
    if field.type.kind == "list":
        result["x-kubernetes-list-type"] = "atomic"
        if field.list_keys:
            result["x-kubernetes-list-type"] = "map"
            result["x-kubernetes-list-map-keys"] = list(field.list_keys)
            _make_map(result["items"], field.list_keys)
        elif field.is_set:
            result["x-kubernetes-list-type"] = "set"
            del result["items"]["nullable"]
    return result


def _make_map(items: Object, keys: Sequence[str]) -> None:
    """Entries that are told apart by keys: a key must be there or be filled in, and the API server allows no null."""
    del items["nullable"]
    for key in keys:
        del items["properties"][key]["nullable"]
        items["properties"][key]["default"] = ""


def _type_schema(schema: Schema, of: Type) -> Object:
    return {**_not_null(schema, of), "nullable": True}


def _not_null(schema: Schema, of: Type) -> Object:
    if of.kind == "struct":
        return struct_schema(schema, of.struct)
    if of.element is None:
        return dict(_SCALARS[of.kind])
    element = _type_schema(schema, of.element)
    if of.kind == "list":
        return {"type": "array", "items": element}
    return {"type": "object", "additionalProperties": element}


CRD_VERSIONS = ("v1", "v1beta2", "v1beta1")
SERVICE_PATH = "/convert"
AGE = Column("Age", ".metadata.creationTimestamp", "date")
# the group belongs to Kubernetes, which asks those who put kinds of their own there to say so
APPROVAL = {"api-approved.kubernetes.io": "unapproved, experimental-only"}


def definitions(
    *, service: str = "", namespace: str = "", url: str = "", ca_bundle: str = ""
) -> Iterator[Object]:
    """One definition per kind in ``resource.k8s.io``.

    Conversion asks ``service`` in ``namespace``, or whoever answers at ``url`` (``https://host:port``) if that is
    given; it trusts ``ca_bundle`` (base64).
    """
    client: Object = {"service": {"name": service, "namespace": namespace, "path": SERVICE_PATH}}
    if url:
        client = {"url": url + SERVICE_PATH}
    if ca_bundle:
        client["caBundle"] = ca_bundle
    for kind in KINDS.values():
        yield _definition(kind, client)


def own_definitions() -> Iterator[Object]:
    """One definition per kind in a group of our own; such a kind has one version, so that nothing has to be converted."""
    for kind in KINDS.values():
        if kind.further_group:
            yield _definition(kind, None)


def crd_versions(kind: Kind) -> list[str]:
    """The versions that a definition serves, the stored one first: stable and beta ones, of a kind without such all."""
    return [version for version in CRD_VERSIONS if version in kind.versions] or list(kind.versions)


def _conversion(client: Object | None) -> Object:
    if client is None:
        return {"strategy": "None"}
    return {
        "strategy": "Webhook",
        "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": dict(client)},
    }


def _definition(kind: Kind, client: Object | None) -> Object:
    """The definition of a kind.

    :param client: who converts; None for a definition in the further group.
    """
    singular = kind.name.lower()
    group = GROUP if client is not None else kind.further_group
    metadata: Object = {"name": f"{kind.resource}.{group}"}
    if group == GROUP:
        metadata["annotations"] = dict(APPROVAL)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": group,
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.resource,
                "singular": singular,
            },
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "conversion": _conversion(client),
            "versions": [_version(kind, version) for version in crd_versions(kind)],
        },
    }


def _version(kind: Kind, version: str) -> Object:
    # all that any release may be told to serve: the webhooks drop what theirs does not know
    schema = SCHEMAS_WITH_PROPOSALS[version]
    properties = struct_schema(schema, kind.name)["properties"]
    properties["metadata"] = {"type": "object"}
    described: Object = {
        "name": version,
        "served": True,
        "storage": version == crd_versions(kind)[0],
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, **properties},
            }
        },
        "additionalPrinterColumns": [_column(column) for column in (*kind.columns, AGE)],
    }
    if warning := deprecation_warning(kind, version):
        described |= {"deprecated": True, "deprecationWarning": warning}
    if kind.has_status:
        if not schema[kind.name]["status"].pointer:
            # the built-in API returns a status even where nobody has written one
            properties["status"]["default"] = {}
        described["subresources"] = {"status": {}}
    if fields := kind.selectable_fields:
        # Lists that are the same in all versions the API server refuses: it wants them once for all, in a place that
        # this version of CRDs no longer has.  It compares them with their order, which has no other meaning.
        first = CRD_VERSIONS.index(version) % len(fields)
        described["selectableFields"] = [{"jsonPath": path} for path in fields[first:] + fields[:first]]
    return described


def _column(column: Column) -> Object:
    return {"name": column.title, "type": column.type, "jsonPath": column.path}
