"""Values are the same exactly when the server says so."""

from __future__ import annotations

from typing import Any

import pytest

from resourceapi.equality import equal, equal_fields
from resourceapi.quantity import parse


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param({"requests": []}, {}, True, id="empty-list-is-none"),
        pytest.param({"labels": {}}, {}, True, id="empty-map-is-none"),
        pytest.param({"nodeSelector": {}}, {}, False, id="empty-struct-is-set"),
        pytest.param({"devices": {"results": []}}, {}, True, id="struct-value-with-nothing-set"),
        pytest.param({"devices": {"results": [{}]}}, {}, False, id="struct-value-with-something-set"),
        pytest.param({"capacity": {"requests": {}}}, {"capacity": {}}, True, id="empty-map-in-a-struct"),
        pytest.param({"capacity": {}}, {}, False, id="empty-capacity-of-a-request-is-set"),
        pytest.param({"attributes": {"a": {}}}, {"attributes": {}}, False, id="entry-with-nothing-set"),
        pytest.param({"adminAccess": False}, {}, False, id="false-is-set"),
        pytest.param({"m": parse("1Gi")}, {"m": parse("1024Mi")}, True, id="quantities-by-amount"),
        pytest.param({"m": parse("1")}, {"m": parse("1001m")}, False, id="other-amount"),
        pytest.param([{"a": "b"}], [{"a": "b"}, {}], False, id="longer-list"),
        pytest.param({"a": "b"}, ["a"], False, id="other-type"),
        pytest.param(None, {}, True, id="nothing-in-a-struct-compared-itself"),
    ],
)
def test_equal(one: Any, other: Any, same: bool) -> None:
    """Empty lists and maps count as absent, empty structs do not; the order of comparison makes no difference."""
    assert equal(one, other) is same
    assert equal(other, one) is same


def test_fields_are_told_apart_by_name() -> None:
    """What is an empty map in one field is a struct with nothing set in another."""
    assert equal_fields("attributes", {}, None)
    assert not equal_fields("allocation", {}, None)
