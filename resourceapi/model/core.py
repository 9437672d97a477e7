"""Structs of ``core/v1`` that DRA objects use: node selectors."""

from __future__ import annotations

from resourceapi.schema import STRING, Field, Struct, list_of, named, ref

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

STRUCTS = (NodeSelector, NodeSelectorTerm, NodeSelectorRequirement)
