"""The public API: what it answers, what it raises, and that answers are the command's."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import FrozenInstanceError
from pathlib import Path
from random import Random
from typing import Any

import pytest

import claimcheck
from claimcheck import Cluster, Expression, FakeCluster
from commandline.main import main
from tests.claimcheck.objects import CLUSTER, PLACEMENT, claim, pod, template
from tests.commandline.odd_values import spoil

EXAMPLES = PLACEMENT.parent
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return Cluster.from_files(CLUSTER)


def test_every_public_name_is_there() -> None:
    assert [name for name in claimcheck.__all__ if not hasattr(claimcheck, name)] == []
    assert dir(claimcheck) == claimcheck.__all__
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        claimcheck.nothing  # noqa: B018


def _loaded_by(module: str) -> list[str]:
    """The modules of this project that are loaded with one of them."""
    rooms = {each.parent.name for each in ROOT.glob("*/__init__.py")}
    code = f"import sys, {module}; print(*sorted(name for name in sys.modules if name.partition('.')[0] in {rooms}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.split()


def test_importing_it_loads_nothing_else() -> None:
    """The command imports the package with every start, so names are loaded when they are asked for."""
    assert _loaded_by("claimcheck") == ["claimcheck"]


def test_the_plugin_loads_nothing_before_it_is_used() -> None:
    """pytest imports it in every run of every project that has the distribution."""
    assert _loaded_by("claimcheck.pytest_plugin") == ["claimcheck", "claimcheck.pytest_plugin"]


# --- validate


WRONG = {**claim(), "spec": {"devices": {"requests": [{"name": "GPU", "exactly": {"deviceClassName": "x"}}]}}}


def test_findings_of_an_object() -> None:
    """An object of Python has a path, and no line."""
    (found,) = claimcheck.validate(WRONG)
    assert (found.severity, found.code, found.path) == (
        "error",
        "FieldValueInvalid",
        "spec.devices.requests[0].name",
    )
    assert (found.object, found.source, found.line, found.column) == (
        "ResourceClaim default/gpu",
        "object",
        None,
        None,
    )
    assert "GPU" in found.message
    assert str(found).startswith(
        "object: error: ResourceClaim default/gpu: spec.devices.requests[0].name: Invalid"
    )
    with pytest.raises(FrozenInstanceError):
        found.message = "x"  # type: ignore[misc]


def test_findings_of_a_text() -> None:
    """A text has lines; what it says is named by its number."""
    text = json.dumps(WRONG, indent=1)
    first, second = claimcheck.validate([claim(), text, text])
    assert (first.source, first.line, second.source) == ("text 2", 11, "text 3")


VALID: dict[str, dict[str, Any]] = {
    "claim": {"objects": claim()},
    "pod": {"objects": [pod(), template()]},
    "other kind": {"objects": {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}},
    "nothing": {"objects": []},
    "namespace": {"objects": claim(), "namespace": "team"},
    "release": {"objects": claim(), "kube_version": "1.34"},
    "update": {"objects": claim(), "old": claim()},
    "without lints": {"objects": pod(resourceClaimName="none"), "lints": False},
}


@pytest.mark.parametrize("case", VALID)
def test_nothing_to_say(case: str) -> None:
    assert claimcheck.validate(**VALID[case]) == []


FINDINGS: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "immutable": (
        {"objects": claim(count=2), "old": claim()},
        [("FieldValueInvalid", "spec")],
    ),
    "version not served": (
        {"objects": {**claim(), "apiVersion": "resource.k8s.io/v1"}, "kube_version": "1.33"},
        [("NotServed", "")],
    ),
    "gate": (
        {
            "objects": {
                **claim(),
                "spec": {
                    "devices": {
                        "requests": [{"name": "a", "exactly": {"deviceClassName": "x", "adminAccess": True}}]
                    }
                },
            }
        },
        [("FieldValueForbidden", "spec.devices.requests[0].exactly.adminAccess")],
    ),
    "no YAML": ({"objects": "a: ["}, [("MalformedDocument", "")]),
    "not typed": ({"objects": {"metadata": {}}}, [("NotServed", "")]),
    "foretold": (
        {"objects": {**claim("A"), "specs": {}}},
        [("UnknownField", "specs"), ("FieldValueInvalid", "metadata.name")],
    ),
}


@pytest.mark.parametrize("case", FINDINGS)
def test_findings(case: str) -> None:
    given, expected = FINDINGS[case]
    found = claimcheck.validate(**given)
    assert [(each.code, each.path) for each in found] == expected
    assert [each.foretold for each in found] == [number > 0 for number in range(len(found))]


def test_lints_see_the_cluster(cluster: Cluster) -> None:
    """A class that is not in the cluster is a warning; without a cluster nothing is known of it."""
    wanted = claim()
    wanted["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] = "gpu.example.org"
    assert claimcheck.validate(wanted) == []
    found = claimcheck.validate(wanted, cluster=cluster)
    assert [each.severity for each in found] == ["warning"]
    assert "gpu.example.org" in found[0].message


def test_answers_are_those_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Shipped examples, good and bad: the same rules, fields, messages and lines as `claimcheck validate --create`."""
    main(["validate", "-o", "json", "--create", str(EXAMPLES / "bad"), str(EXAMPLES / "good")])
    report = json.loads(capsys.readouterr().out)
    expected = [
        (finding["rule"], finding.get("field", ""), finding["message"], finding.get("line"))
        for result in report["results"]
        for finding in (*result["findings"], *result.get("afterwards", ()))
    ]
    found = claimcheck.validate([EXAMPLES / "bad", EXAMPLES / "good"])
    assert [(each.code, each.path, each.message, each.line) for each in found] == expected
    assert len(expected) > 30


def test_directories_and_what_else_is_in_them(tmp_path: Path) -> None:
    """Values of a chart beside a manifest are no mistake in a directory, and one as a text."""
    (tmp_path / "values.yaml").write_text("replicas: 1\n")
    assert claimcheck.validate(tmp_path) == []
    assert [each.code for each in claimcheck.validate("replicas: 1\n")] == ["NotServed"]


# --- explain and simulate


EXPLAINED: dict[str, tuple[Any, str, str, int]] = {
    "pod": ([pod(), template()], "fits", "gpu-node", 0),
    "claim": (claim(), "fits", "gpu-node", 0),
    "claim in use": ([pod(resourceClaimName="gpu"), claim(count=4)], "does not fit", "", 3),
    "claim that is missing": (pod(resourceClaimName="none"), "waits", "", 0),
    "node name": (
        [{**pod(), "spec": {**pod()["spec"], "nodeName": "gpu-node"}}, template()],
        "bypasses the scheduler",
        "",
        0,
    ),
}


@pytest.mark.parametrize("case", EXPLAINED)
def test_explain(case: str, cluster: Cluster) -> None:
    given, verdict, node, remedies = EXPLAINED[case]
    found = claimcheck.explain(given, cluster)
    assert (found.verdict, found.node, len(found.remedies)) == (verdict, node, remedies)
    assert found.fits is (verdict == "fits")
    assert bool(found.reason) is not found.fits
    assert [(each.claim, each.driver) for each in found.devices] == (
        [(f"default/{'train-gpu' if case == 'pod' else 'gpu'}", "gpu.example.com")] if found.fits else []
    )


def test_a_question_changes_nothing(cluster: Cluster) -> None:
    """The same answer comes twice: what one question brings along, the next does not see."""
    first = claimcheck.explain([pod(), template()], cluster)
    assert claimcheck.explain([pod(), template()], cluster) == first
    assert claimcheck.explain(pod(), cluster).verdict == "waits"
    assert len(claimcheck.simulate([claim("a"), claim("b"), claim("c")], cluster).placed) == 3
    assert claimcheck.explain([pod(), template()], cluster) == first


def test_an_unknown_node(cluster: Cluster) -> None:
    with pytest.raises(claimcheck.ClaimcheckError, match="there is no node n"):
        claimcheck.explain(claim(), cluster, node="n")


UNANSWERABLE: dict[str, tuple[Any, str]] = {
    "nothing": ([], "nothing requests devices"),
    "two": ([claim("a"), claim("b")], "2 objects request devices"),
    "refused": (WRONG, 'ResourceClaim default/gpu: ResourceClaim.resource.k8s.io "gpu" is invalid'),
    "unreadable": ("a: [", "text:1: "),
}


@pytest.mark.parametrize("case", UNANSWERABLE)
def test_what_cannot_be_explained(case: str, cluster: Cluster) -> None:
    given, message = UNANSWERABLE[case]
    with pytest.raises(claimcheck.ClaimcheckError) as raised:
        claimcheck.explain(given, cluster)
    assert str(raised.value).startswith(message)


def test_simulate(cluster: Cluster) -> None:
    """Pods are placed beside each other; the objective matters."""
    claims = PLACEMENT / "claims.yaml"
    first = claimcheck.simulate(claims, cluster)
    assert [each.pod for each in first.left] == ["ResourceClaim team-b/half-3"]
    assert first.left[0].reason == "0/1 nodes are available: 1 cannot allocate all claims."
    assert first.placed[0].devices[0].device == "gpu-0-quarter-0"
    assert claimcheck.simulate(claims, cluster, objective="best-fit").left == []
    assert claimcheck.simulate(pod(), cluster).left[0].reason.startswith("waits for template default/gpu")
    with pytest.raises(
        claimcheck.ClaimcheckError, match="expected one of kube-scheduler, first-fit, best-fit"
    ):
        claimcheck.simulate(claims, cluster, objective="worst")  # type: ignore[arg-type]
    with pytest.raises(claimcheck.ClaimcheckError, match="is invalid"):
        claimcheck.simulate(WRONG, cluster)


# --- clusters


def test_clusters_from_objects_and_files_are_the_same(cluster: Cluster) -> None:
    other = Cluster.from_objects(CLUSTER.read_text(encoding="utf-8"))
    assert other.devices() == cluster.devices()
    assert len(other.devices()) == 14
    assert cluster.problems == []


def test_devices_have_what_patches_say() -> None:
    found = Cluster.from_files(
        EXAMPLES / "patches", feature_gates={"DRAAdminControlledDeviceAttributes": True}
    )
    assert json.dumps([dict(each.spec) for each in found.devices()])


CLUSTERS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "release": ([], {"kube_version": "1.1"}, "kube_version: unknown release '1.1'"),
    "gate": ([], {"feature_gates": {"No": True}}, "feature_gates: "),
    "no YAML": ("a: [", {}, "text:1: "),
    "undecodable": ({**claim(), "spec": 3}, {}, "object: "),
}


@pytest.mark.parametrize("case", CLUSTERS)
def test_what_is_no_cluster(case: str) -> None:
    given, options, message = CLUSTERS[case]
    with pytest.raises(claimcheck.ClaimcheckError) as raised:
        Cluster.from_objects(given, **options)
    assert str(raised.value).startswith(message)


# --- expressions


EXPRESSIONS: dict[str, tuple[str, dict[str, Any], bool | None]] = {
    "driver": ('device.driver == "a"', {"driver": "a"}, True),
    "attribute": ('device.attributes["a"].x == 1', {"driver": "a", "attributes": {"x": {"int": 2}}}, False),
    "capacity": (
        'device.capacity["a"].m.compareTo(quantity("1Gi")) > 0',
        {"driver": "a", "capacity": {"m": {"value": "2Gi"}}},
        True,
    ),
    "v1beta1": (
        'device.attributes["a"].x == 1',
        {"driver": "a", "basic": {"attributes": {"x": {"int": 1}}}},
        True,
    ),
    "failing": ('device.attributes["a"].x == 1', {"driver": "a"}, None),
}


@pytest.mark.parametrize("case", EXPRESSIONS)
def test_expressions(case: str) -> None:
    text, device, expected = EXPRESSIONS[case]
    expression = Expression(text)
    found = expression.evaluate(device)
    assert (expression.errors, found.value) == ([], expected)
    assert 0 < (found.cost or 1) <= expression.cost < expression.cost_limit
    if expected is None:
        assert "no such key: x" in found.error
        with pytest.raises(claimcheck.ClaimcheckError, match="no such key: x"):
            expression.matches(device)
    else:
        assert expression.matches(device) is expected


def test_an_expression_that_the_server_refuses() -> None:
    """Errors say where; nothing can be evaluated."""
    expression = Expression("device.drivers == 'a'")
    (error,) = expression.errors
    assert error.startswith("1:7: undefined field 'drivers'")
    with pytest.raises(claimcheck.ClaimcheckError, match="does not compile"):
        expression.matches({"driver": "a"})


def test_gates_of_expressions() -> None:
    """What an expression may use depends on the release."""
    text = "device.allowMultipleAllocations == true"
    assert Expression(text, kube_version="1.34").errors
    assert Expression(text, kube_version="1.34", feature_gates={"DRAConsumableCapacity": True}).errors == []


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ({}, "the device has no driver"),
        ({"driver": "a", "attributes": []}, "device: "),
        (3, "the device has no driver"),
    ],
    ids=["no driver", "attributes", "no mapping"],
)
def test_what_is_no_device(device: Any, message: str) -> None:
    with pytest.raises(claimcheck.ClaimcheckError) as raised:
        Expression("true").matches(device)
    assert str(raised.value).startswith(message)


# --- mistakes of any kind


@pytest.mark.parametrize("seed", range(12))
def test_odd_values_get_an_answer(seed: int, cluster: Cluster) -> None:
    """Whatever is wrong with objects, there is an answer or a ClaimcheckError, never another exception."""
    chance = Random(seed)
    objects = [pod(), template(), claim("x")]
    existing = [each.value for each in Cluster.from_files(CLUSTER).manifests]
    device = {"driver": "a", "attributes": {"x": {"string": "b"}}, "capacity": {"m": {"value": "1"}}}
    for each in (objects, objects, existing, device):
        spoil(each, chance)
    questions: list[Callable[[], object]] = [
        lambda: claimcheck.validate(objects),
        lambda: claimcheck.validate(objects, old=objects),
        lambda: claimcheck.explain(objects[:2], cluster),
        lambda: claimcheck.simulate(objects, cluster),
        lambda: [claimcheck.convert(each, to="v1beta1") for each in objects],
        lambda: claimcheck.explain(claim(), Cluster.from_objects(existing)),
        lambda: Cluster.from_objects(existing).devices(),
        lambda: FakeCluster.from_objects(existing).schedule([pod(), template()]),
        lambda: Expression('device.attributes["a"].x == "b"').matches(device),
    ]
    for ask in questions:
        with suppress(claimcheck.ClaimcheckError):
            ask()


# --- convert


def test_convert() -> None:
    """There and back; a text keeps its comments, what is of another group stays."""
    old = claimcheck.convert(claim(), to="v1beta1")
    assert old["spec"]["devices"]["requests"][0]["deviceClassName"] == "gpu.example.com"
    assert claimcheck.convert(old) == claim()
    assert claimcheck.convert(pod()) == pod()
    text = "# mine\napiVersion: resource.k8s.io/v1beta1\nkind: DeviceClass\nmetadata: {name: a} # here\n"
    assert claimcheck.convert(text) == text.replace("v1beta1", "v1")


UNCONVERTIBLE: dict[str, tuple[Any, str, str]] = {
    "version": (claim(), "v2", "to: expected one of v1, "),
    "list": ([claim()], "v1", "expected an object or a text, found list"),
    "classic": (
        {"apiVersion": "resource.k8s.io/v1alpha2", "kind": "ResourceClass"},
        "v1",
        "apiVersion: ResourceClass of classic",
    ),
    "text": ("apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClass\n", "v1", "text:1:"),
    "undecodable": ({**claim(), "spec": 3}, "v1beta1", "spec"),
}


@pytest.mark.parametrize("case", UNCONVERTIBLE)
def test_what_cannot_be_converted(case: str) -> None:
    given, version, message = UNCONVERTIBLE[case]
    with pytest.raises(claimcheck.ClaimcheckError) as raised:
        claimcheck.convert(given, to=version)
    assert str(raised.value).startswith(message)
