"""Pods that are placed together."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from allocator.gangs import Gang, together
from allocator.packing import pack
from allocator.scheduling import Mode
from allocator.simulation import UNHURRIED, Placement, Pod, Simulation
from resourceapi.records.claims import Claim
from tests.allocator.objects import claim, cluster, exactly, node, slice_of

A, B = Gang("ns/a", 2), Gang("ns/b", 3, running=2)
BASIC = Gang("ns/basic", 1)


@pytest.mark.parametrize(
    ("gangs", "units"),
    [
        pytest.param([None, None], [[0], [1]], id="no-gangs"),
        pytest.param([A, None, A], [[1], [0, 2]], id="once-there-are-enough"),
        pytest.param([A, A, None, A], [[0, 1, 3], [2]], id="with-those-that-come-later"),
        pytest.param([A, None], [[0], [1]], id="too-few"),
        pytest.param([B, None, B], [[0, 2], [1]], id="some-on-nodes"),
        pytest.param([BASIC, None, BASIC], [[0, 2], [1]], id="basic"),
        pytest.param([A, B, A, B], [[1, 3], [0, 2]], id="two-gangs"),
    ],
)
def test_together(gangs: list[Gang | None], units: list[list[int]]) -> None:
    """A gang is tried at the turn of the pod that completes it, with all its pods."""
    assert together(gangs) == units


# gangs that fit only if their nodes are chosen for all of their pods together


def member(name: str, count: int, *, shared: bool = False, least: int = 2) -> Pod:
    """A pod of a gang with a claim for so many devices, and perhaps one that its pods share, for one."""
    claims = {f"ns/{name}": Claim(claim(exactly(count=count), name=name))}
    if shared:
        claims["ns/shared"] = Claim(claim(exactly(), name="shared"))
    return Pod(name, claims, gang=Gang("ns/g", least))


def simulation(*counts: int) -> Simulation:
    """In a cluster of nodes with so many devices each."""
    slices = [
        slice_of(
            *[f"d{each}" for each in range(count)],
            name=f"s{number}",
            pool=f"p{number}",
            nodeName=f"n{number}",
        )
        for number, count in enumerate(counts)
    ]
    return Simulation(
        cluster(*slices, nodes=[node(f"n{number}") for number in range(len(counts))]), UNHURRIED
    )


def nodes(placements: Sequence[Placement]) -> list[str]:
    return [each.node for each in placements]


SHARING = [member(name, 1, shared=True) for name in ("a", "b")]
TWO_SIZES = [member("a", 1), member("b", 2)]
THREE = [member(name, 1, shared=True, least=3) for name in ("a", "b", "c")]


@pytest.mark.parametrize(
    ("counts", "pods", "expected"),
    [
        pytest.param((2, 3), SHARING, ["n1", "n1"], id="shared"),
        pytest.param((2, 2, 2, 3, 2), SHARING, ["n3", "n3"], id="one-of-many"),
        pytest.param((3, 2, 2, 4), THREE, ["n3", "n3", "n3"], id="three"),
        pytest.param((2, 1), TWO_SIZES, ["n1", "n0"], id="the-larger-one-first"),
        pytest.param((2, 2, 2), SHARING, ["", ""], id="none-fits"),
        pytest.param((1, 1), TWO_SIZES, ["", ""], id="one-fits-nowhere"),
    ],
)
def test_a_gang_as_a_whole(counts: tuple[int, ...], pods: list[Pod], expected: list[str]) -> None:
    """Its pods do not fit one by one, each on the first node that it fits on, nor as kube-scheduler chooses."""
    for mode in (Mode.FIRST_FIT, Mode.PREFERRED):
        assert not any(nodes(simulation(*counts).run(pods, mode)))
    assert nodes(pack(simulation(*counts), pods, rounds=50)) == expected


def test_why_a_gang_does_not_fit() -> None:
    """It is said of all nodes, wherever else its pods have been tried."""
    found = simulation(2, 2)
    begun = found.run(SHARING, Mode.BEST_FIT)
    assert pack(found, SHARING, rounds=20) == begun


def test_a_gang_beside_others() -> None:
    """What is on nodes makes room for it."""
    pods = [Pod("z", {"ns/z": Claim(claim(exactly(), name="z"))}), *SHARING]
    assert nodes(pack(simulation(3, 1), pods)) == ["n1", "n0", "n0"]
