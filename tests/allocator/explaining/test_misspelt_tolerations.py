"""Which tolerations were meant for a taint that a node or device has."""

from __future__ import annotations

import pytest

from allocator.explaining.misspelt_tolerations import misspelt
from resourceapi.objects import Object
from resourceapi.records.taints import Taint

UNREACHABLE = Taint("node.kubernetes.io/unreachable", "", "NoSchedule")
DRAINED = Taint("example.com/drained", "soon", "NoSchedule")
BY_ADMISSION = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}


@pytest.mark.parametrize(
    ("toleration", "taint", "meant"),
    [
        ({"key": "example.com/drainde", "operator": "Exists"}, DRAINED, "example.com/drained"),
        ({"key": "example.com/drained", "operator": "Exists", "effect": "NoExecute"}, DRAINED, "example.com/drained:NoSchedule"),
        ({"key": "example.com/drained", "value": "soom"}, DRAINED, "example.com/drained=soon"),
        ({"key": "example.com/drained", "value": "soon"}, DRAINED, None),
        # what every pod is given by the API server was typed by nobody
        ({"key": "node.kubernetes.io/unreachable", **BY_ADMISSION}, UNREACHABLE, None),
        ({"key": "node.kubernetes.io/not-ready", **BY_ADMISSION}, Taint("node.kubernetes.io/not-redy", "", "NoSchedule"), None),
        ({"key": "node.kubernetes.io/unreachble", **BY_ADMISSION}, UNREACHABLE, "node.kubernetes.io/unreachable"),
    ],
)  # fmt: skip
def test_misspelt(toleration: Object, taint: Taint, meant: str | None) -> None:
    found = [each.meant for each in misspelt([toleration], [taint], {taint.key})]
    assert found == ([] if meant is None else [meant])
