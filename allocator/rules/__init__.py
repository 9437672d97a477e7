"""The rules about which devices a request can have, one module each.

Which device is tried when is for the search (:mod:`allocator.search`). KEP-4381, KEP-4815, KEP-4816, KEP-5018, KEP-5055,
KEP-5075 and KEP-5963, as kube-scheduler 1.37.1 applies them.
"""

from __future__ import annotations

from allocator.rules.capacity import Capacity
from allocator.rules.constraints import Constraints
from allocator.rules.counters import Counters
from allocator.rules.exclusive_use import ExclusiveUse
from allocator.rules.feature_gates import FeatureGates
from allocator.rules.groups import CompatibilityGroups
from allocator.rules.node_operations import NodeOperations
from allocator.rules.placement import Placement
from allocator.rules.rule import Rule
from allocator.rules.selectors import ClassSelectors, RequestSelectors
from allocator.rules.taints import Taints

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
