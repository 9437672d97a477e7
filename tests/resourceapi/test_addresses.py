"""Interface addresses, against the answers of Kubernetes' own function."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resourceapi.addresses import interface_address
from resourceapi.field_errors import INVALID
from tests.resourceapi.tables import table


@pytest.mark.parametrize("case", table("interface_addresses"))
def test_addresses_are_judged_as_by_the_server(case: dict[str, Any]) -> None:
    """An address that is none, or not in canonical form, has one problem, which names the canonical form."""
    problems = interface_address(case["value"])
    assert [tuple(problem) for problem in problems] == [
        (INVALID, case["value"], text) for text in case["details"]
    ]


def is_not_mapped(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return getattr(address, "ipv4_mapped", None) is None


addresses = st.ip_addresses().filter(is_not_mapped)


@given(addresses, st.integers(min_value=0, max_value=128))
def test_canonical_addresses_are_valid(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address, length: int
) -> None:
    """Canonical addresses with a length in range have no problem; IPv6 written in full has one."""
    length = min(length, address.max_prefixlen)
    assert interface_address(f"{address}/{length}") == []
    in_full = f"{address.exploded}/{length}"
    canonical = f'must be in canonical form ("{address}/{length}")'
    assert [problem.detail for problem in interface_address(in_full)] == [canonical] * (
        address.exploded != str(address)
    )


@given(st.text() | st.text(alphabet="0123456789abcdef.:/"))
def test_any_text_is_judged(text: str) -> None:
    """No text makes it fail; the canonical form that it names is valid."""
    for problem in interface_address(text):
        assert problem.value == text
        if "canonical" in problem.detail:
            assert interface_address(problem.detail.split('"')[1]) == []
