"""Structs that kinds share: node selectors (core/v1), object metadata and conditions (k8s.io/apimachinery/pkg/apis/meta/v1)."""

from __future__ import annotations

from resourceapi.schema import BOOL, INT64, RAW, STRING, TIME, Field, Struct, list_of, map_of, named, ref

UID = named("types.UID")

OwnerReference = Struct(
    "OwnerReference",
    Field("apiVersion", STRING, go="APIVersion", omitempty=False),
    Field("kind", STRING, omitempty=False),
    Field("name", STRING, omitempty=False),
    Field("uid", UID, go="UID", omitempty=False),
    Field("controller", BOOL, pointer=True),
    Field("blockOwnerDeletion", BOOL, pointer=True),
    tagged=True,
)

ManagedFieldsEntry = Struct(
    "ManagedFieldsEntry",
    Field("manager", STRING),
    Field("operation", named("v1.ManagedFieldsOperationType")),
    Field("apiVersion", STRING, go="APIVersion"),
    Field("time", TIME, pointer=True),
    Field("fieldsType", STRING),
    Field("fieldsV1", RAW, go="FieldsV1", pointer=True),
    Field("subresource", STRING),
    tagged=True,
)

ObjectMeta = Struct(
    "ObjectMeta",
    Field("name", STRING),
    Field("generateName", STRING),
    Field("namespace", STRING),
    Field("selfLink", STRING),
    Field("uid", UID, go="UID"),
    Field("resourceVersion", STRING),
    Field("generation", INT64),
    Field("creationTimestamp", TIME),
    Field("deletionTimestamp", TIME, pointer=True),
    Field("deletionGracePeriodSeconds", INT64, pointer=True),
    Field("labels", map_of(STRING)),
    Field("annotations", map_of(STRING)),
    Field("ownerReferences", list_of(ref("OwnerReference", package="v1"))),
    Field("finalizers", list_of(STRING)),
    Field("managedFields", list_of(ref("ManagedFieldsEntry", package="v1"))),
    tagged=True,
)

Condition = Struct(
    "Condition",
    Field("type", STRING, omitempty=False),
    Field("status", named("v1.ConditionStatus"), omitempty=False),
    Field("observedGeneration", INT64),
    Field("lastTransitionTime", TIME, omitempty=False),
    Field("reason", STRING, omitempty=False),
    Field("message", STRING, omitempty=False),
    tagged=True,
)

METADATA = Field("metadata", ref("ObjectMeta", package="v1"), go="ObjectMeta")


# Structs of ``core/v1`` that DRA objects use: node selectors.

NodeSelector = Struct(
    "NodeSelector",
    Field("nodeSelectorTerms", list_of(ref("NodeSelectorTerm", package="v1")), omitempty=False),
    atomic=True,
)
NodeSelectorTerm = Struct(
    "NodeSelectorTerm",
    Field("matchExpressions", list_of(ref("NodeSelectorRequirement", package="v1"))),
    Field("matchFields", list_of(ref("NodeSelectorRequirement", package="v1"))),
    atomic=True,
)
NodeSelectorRequirement = Struct(
    "NodeSelectorRequirement",
    Field("key", STRING, omitempty=False),
    Field("operator", named("v1.NodeSelectorOperator"), omitempty=False),
    Field("values", list_of(STRING)),
)

STRUCTS = (
    OwnerReference,
    ManagedFieldsEntry,
    ObjectMeta,
    Condition,
    NodeSelector,
    NodeSelectorTerm,
    NodeSelectorRequirement,
)
