"""The rules about which devices a request can have.

Which device is tried when is for the search (:mod:`allocator.search`). KEP-4381, KEP-4815, KEP-4816, KEP-5018, KEP-5055,
KEP-5075 and KEP-5963, as kube-scheduler 1.37.1 applies them.
"""

from __future__ import annotations

from allocator.rules.capacity import Capacity
from allocator.rules.constraints import Constraints
from allocator.rules.counters import Counters
from allocator.rules.groups import CompatibilityGroups
from allocator.rules.rule import Rule
from allocator.rules.selectors import ClassSelectors, RequestSelectors
from allocator.rules.standing import ExclusiveUse, FeatureGates, NodeOperations, Placement, Taints

RULES: tuple[type[Rule], ...] = (
    Placement,
    FeatureGates,
    ClassSelectors,
    RequestSelectors,
    Taints,
    ExclusiveUse,
    Capacity,
    Counters,
    CompatibilityGroups,
    NodeOperations,
    Constraints,
)
"""All rules, in the order in which they are explained: first those that say which devices match a request."""
