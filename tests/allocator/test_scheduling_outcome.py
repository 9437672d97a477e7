"""An error on a node that kube-scheduler looks at leaves the pod pending, wherever else it would fit.

What is expected here is what kube-scheduler 1.37.1 did with such pods (`tests/e2e/test_scheduled.py` asks it).
"""

from __future__ import annotations

import pytest

from allocator.errors import ExpressionError, RefusedDeviceError, UnreadyPoolError
from allocator.explaining.explanation import CHANCE, ERROR, FITS, Explanation, explain
from allocator.explaining.snapshot import ClusterContent, Snapshot
from allocator.scheduling import Mode
from allocator.scheduling_outcome import SchedulingOutcome, scheduling_outcome
from allocator.simulation import UNHURRIED, Pod, Simulation
from allocator.time_limit import UNLIMITED
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.classes import DeviceClass
from tests.allocator.objects import (
    ALL_FEATURES,
    DRIVER,
    claim,
    cluster,
    device,
    device_class,
    exactly,
    held,
    node,
    slice_of,
)

IS_ONE = f"device.attributes['{DRIVER}'].model == 1"
GOOD = device("good", attributes={"model": 1})
BARE = device("bare")
ALIKE: list[Object] = [{"matchAttribute": f"{DRIVER}/model"}]


def on(name: str, *devices: Object, **spec: int) -> Object:
    """What a node has, in a pool of its own."""
    return slice_of(*devices, name=name, pool=name, nodeName=name, **spec)  # type: ignore[arg-type]


def explained(*slices: Object, asked: Object, classes: DeviceClass | None = None) -> Explanation:
    names = [each["metadata"]["name"] for each in slices]
    known = {"any": classes or device_class()}
    return explain(
        Snapshot(
            ALL_FEATURES, ClusterContent([node(name) for name in names], known, slices), time_limit=UNLIMITED
        ),
        [Claim(asked)],
        UNLIMITED,
    )


@pytest.mark.parametrize(
    ("nodes", "fitting", "failing", "undecided", "expected"),
    [
        pytest.param(3, 2, 0, 0, SchedulingOutcome.FITS, id="fits"),
        pytest.param(3, 0, 0, 0, SchedulingOutcome.MISFIT, id="misfit"),
        pytest.param(3, 2, 1, 0, SchedulingOutcome.ERROR, id="error"),
        pytest.param(3, 0, 0, 1, SchedulingOutcome.UNDECIDED, id="given-up"),
        pytest.param(3, 1, 0, 2, SchedulingOutcome.FITS, id="given-up-elsewhere"),
        pytest.param(3, 0, 1, 2, SchedulingOutcome.ERROR, id="given-up-beside-an-error"),
        pytest.param(100, 99, 1, 0, SchedulingOutcome.ERROR, id="all-of-100-are-asked"),
        pytest.param(102, 100, 1, 0, SchedulingOutcome.ERROR, id="not-one-too-many"),
        pytest.param(102, 101, 1, 0, SchedulingOutcome.CHANCE, id="enough-without-it"),
        pytest.param(1000, 420, 1, 0, SchedulingOutcome.ERROR, id="of-1000-420-are-wanted"),
        pytest.param(1000, 421, 1, 0, SchedulingOutcome.CHANCE, id="of-1000-421-end-it"),
        pytest.param(1000, 420, 1, 1, SchedulingOutcome.UNDECIDED, id="given-up-could-be-enough"),
    ],
)
def test_scheduling_outcome(
    nodes: int, fitting: int, failing: int, undecided: int, expected: SchedulingOutcome
) -> None:
    """An error ends each attempt, unless more nodes fit than kube-scheduler wants to choose from."""
    assert scheduling_outcome(nodes, fitting, failing, undecided) is expected


CASES = [
    pytest.param(
        (on("a", GOOD), on("b", GOOD), on("c", BARE)),
        exactly(selectors=[IS_ONE]),
        (),
        ExpressionError.fix,
        id="expression",
    ),
    pytest.param(
        (on("a", GOOD), on("b", GOOD), on("c", GOOD, device("other", attributes={"model": 2}))),
        exactly(count=None),
        ALIKE,
        RefusedDeviceError.fix,
        id="all-refused",
    ),
    pytest.param(
        (on("a", GOOD), on("b", GOOD), on("c", GOOD, count=2)),
        exactly(count=None),
        (),
        UnreadyPoolError.fix,
        id="all-of-a-pool-in-the-making",
    ),
]


@pytest.mark.parametrize(("slices", "request_", "constraints", "fix"), CASES)
def test_explained(slices: tuple[Object, ...], request_: Object, constraints: list[Object], fix: str) -> None:
    """The node is named, the nodes that would do, and what can be done; keeping off the node is one of the remedies."""
    found = explained(*slices, asked=claim(request_, constraints=constraints))
    assert (found.verdict, found.placed, found.fitting) == (ERROR, None, ["a", "b"])
    assert found.error is not None
    assert (found.error.node, found.error.fix) == ("c", fix)
    assert found.remedies[0].subject == "c"
    assert found.remedies[0].nodes == ("a", "b")


@pytest.mark.parametrize("mode", [Mode.ATTEMPT, Mode.BEST_FIT])
@pytest.mark.parametrize(("slices", "request_", "constraints", "fix"), CASES)
def test_simulated(
    slices: tuple[Object, ...], request_: Object, constraints: list[Object], fix: str, mode: Mode
) -> None:
    """Nothing is given to the pod, and the node is named."""
    snapshot = cluster(*slices, nodes=[node(each["metadata"]["name"]) for each in slices])
    asked = Pod("p", {"ns/c": Claim(claim(request_, constraints=constraints))})
    found = Simulation(snapshot, UNHURRIED).place(asked, mode)
    assert (found.node, found.undecided) == ("", False)
    assert found.error.startswith("an error on c fails the attempt: ")
    assert fix in found.error
    assert Simulation(snapshot, UNHURRIED).place(asked._replace(closed=frozenset("c")), mode).node == "a"


def test_guards() -> None:
    """A guard is a remedy where it keeps the selector from failing on any node; each look-up needs its own."""
    two = f"{IS_ONE} && device.attributes['{DRIVER}'].size == 2"
    slices = [
        on("a", device("d", attributes={"model": 1, "size": 2})),
        on("b", BARE),
        on("c", GOOD),
    ]
    found = explained(*slices, asked=claim(exactly(selectors=[two])))
    own = f'device.attributes["{DRIVER}"]'
    values = [each.value for each in found.remedies if each.kind == "selector" and each.value]
    assert values == [f'"model" in {own} && "size" in {own} && ({two})']


def test_guard_in_a_class() -> None:
    """What fails in the class is fixed in the class."""
    found = explained(
        on("a", GOOD), on("b", BARE), asked=claim(exactly()), classes=device_class(selectors=[IS_ONE])
    )
    assert [(each.subject, each.nodes) for each in found.remedies if each.kind == "selector"] == [
        ("any", ("a",))
    ]


def test_error_where_an_allocated_claim_is_not() -> None:
    """Devices are also looked for on nodes where an allocated claim of the pod keeps it from going."""
    own = held("d0", pool="a", name="own")
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
    own["status"]["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [here]}
    slices = [on("a", GOOD, device("d0")), on("b", BARE)]
    snapshot = Snapshot(
        ALL_FEATURES,
        ClusterContent([node("a"), node("b")], {"any": device_class()}, slices, [Claim(own)]),
        time_limit=UNLIMITED,
    )
    guarded = f"device.driver != 'x' && ('model' in device.attributes['{DRIVER}']) && {IS_ONE}"
    asked = [own, claim(exactly(selectors=[guarded]))]
    assert explain(snapshot, [Claim(each) for each in asked], UNLIMITED).verdict == FITS
    asked = [own, claim(exactly(selectors=[IS_ONE]))]
    # d0 fails as well, but it is taken and so not looked at
    found = explain(snapshot, [Claim(each) for each in asked], UNLIMITED)
    assert (found.verdict, [each.node for each in found.errors]) == (ERROR, ["b"])


def many(fitting: int) -> list[Object]:
    """A failing node among so many others that 100 of them suffice."""
    return [on("bad", BARE), *(on(f"n{place:03}", GOOD) for place in range(fitting))]


@pytest.mark.parametrize(("fitting", "verdict", "placed"), [(100, ERROR, ""), (101, CHANCE, "n000")])
def test_many_nodes(fitting: int, verdict: str, placed: str) -> None:
    """Where more nodes fit than are wanted, attempts may end before they come to the error: that is left to chance."""
    slices = many(fitting)
    asked = claim(exactly(selectors=[IS_ONE]))
    found = explained(*slices, asked=asked)
    assert (found.verdict, found.error and found.error.node) == (verdict, "bad")
    snapshot = cluster(*slices, nodes=[node(each["metadata"]["name"]) for each in slices])
    placement = Simulation(snapshot, UNHURRIED).place(Pod("p", {"ns/c": Claim(asked)}), Mode.ATTEMPT)
    assert placement.node == placed
    assert placement.error.startswith("an error on bad fails the attempt: ")
