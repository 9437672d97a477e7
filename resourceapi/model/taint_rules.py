"""DeviceTaintRule."""

from __future__ import annotations

from resourceapi.model.claims import SELECTORS
from resourceapi.model.meta import METADATA
from resourceapi.model.slices import default_taints
from resourceapi.objects import Object
from resourceapi.schema import STRING, Field, Struct, list_of, ref

DeviceTaintRule = Struct(
    "DeviceTaintRule",
    METADATA,
    Field("spec", ref("DeviceTaintRuleSpec"), omitempty=False),
    Field("status", ref("DeviceTaintRuleStatus"), since=35),
)
DeviceTaintRuleSpec = Struct(
    "DeviceTaintRuleSpec",
    Field("deviceSelector", ref("DeviceTaintSelector"), pointer=True),
    Field("taint", ref("DeviceTaint")),
)
DeviceTaintSelector = Struct(
    "DeviceTaintSelector",
    Field("deviceClassName", STRING, pointer=True, until=34),
    Field("driver", STRING, pointer=True),
    Field("pool", STRING, pointer=True),
    Field("device", STRING, pointer=True),
    SELECTORS.last_in(34),
)
DeviceTaintRuleStatus = Struct(
    "DeviceTaintRuleStatus", Field("conditions", list_of(ref("Condition", package="v1")), list_keys=("type",))
)

STRUCTS = (DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector, DeviceTaintRuleStatus)


def default_rule(rule: Object, version: str, now: str) -> None:
    """Fill in the defaults of a rule: its taint has been added now, if it does not say when."""
    taint = rule.setdefault("spec", {}).setdefault("taint", {})  # no pointers: they are always there
    default_taints((taint,), now)
