"""The API server is recognised, and what does not go with the configuration is said."""

from __future__ import annotations

import copy
from collections.abc import Generator, Mapping
from threading import Event, Thread
from typing import Any, cast

import pytest

from cluster.client import Client
from cluster.group_snapshots import InConfiguration, InResults, NotKept
from resourceapi.api_client import Unavailable
from resourceapi.releases import Profile
from scheduler.server_check import (
    BUILT_IN,
    CUSTOM_RESOURCES,
    ConnectedServer,
    ServerCheck,
    Unsuitable,
    ask,
    differences,
    objections,
)
from tests.scheduler.test_snapshots import UID, allocation, claim_with, entry

GROUP = "/apis/resource.k8s.io"
RESOURCES = (
    "deviceclasses",
    "resourceclaims",
    "resourceclaims/status",
    "resourceclaimtemplates",
    "resourceslices",
)
PATIENCE = 120


def _properties(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties}


def _of_slices(consumption: object) -> dict[str, object]:
    devices = {"items": _properties(consumesCounters={"items": consumption})}
    return _properties(spec=_properties(devices=devices))


def _of_claims(result: object) -> dict[str, object]:
    allocated = _properties(results={"items": result})
    return _properties(status=_properties(allocation=_properties(devices=allocated)))


GROUPS = _properties(compatibilityGroups={"type": "array"})
_CONSUMPTION = "io.k8s.api.resource.v1.DeviceCounterConsumption"
BUILT_IN_SCHEMAS = {
    # as the built-in API has it: by reference
    "io.k8s.api.resource.v1.ResourceSlice": _of_slices(
        {"allOf": [{"$ref": f"#/components/schemas/{_CONSUMPTION}"}], "default": {}}
    ),
    _CONSUMPTION: GROUPS,
    "io.k8s.api.resource.v1.ResourceClaim": _of_claims(_properties()),
}
CRD_SCHEMAS = {
    "io.k8s.resource.v1.ResourceSlice": _of_slices(GROUPS),
    "io.k8s.resource.v1.ResourceClaim": _of_claims(GROUPS),
}
OLD_CRD_SCHEMAS = {**CRD_SCHEMAS, "io.k8s.resource.v1.ResourceClaim": _of_claims(_properties())}


class Server:
    """Answers as a kube-apiserver does; `gates` None: its metrics may not be read."""

    def __init__(
        self,
        schemas: Mapping[str, object] = BUILT_IN_SCHEMAS,
        version: Mapping[str, str] = {"major": "1", "minor": "37"},
        gates: Mapping[str, int] | None = None,
        versions: tuple[str, ...] | None = ("v1",),
        resources: tuple[str, ...] = RESOURCES,
    ) -> None:
        self.answers: dict[str, tuple[int, Any]] = {
            "/version": (200, dict(version)),
            f"{GROUP}/v1": (200, {"resources": [{"name": each} for each in resources]}),
            f"/openapi/v3{GROUP}/v1": (200, {"components": {"schemas": schemas}}),
        }
        if versions is not None:
            self.answers[GROUP] = (200, {"versions": [{"version": each} for each in versions]})
        self.gates = gates

    def request(self, verb: str, path: str) -> tuple[int, Any]:
        assert verb == "GET"
        return self.answers.get(path, (404, {"message": "not found"}))

    def lines(self, path: str, query: object, timeout: float) -> Generator[bytes, None, None]:
        assert path == "/metrics"
        if self.gates is None:
            raise Unavailable("GET /metrics: 403", code=403)
        yield b"# HELP kubernetes_feature_enabled [BETA] This metric records the data about the feature"
        yield b'apiserver_request_total{code="200"} 7'
        for name, value in self.gates.items():
            yield f'kubernetes_feature_enabled{{name="{name}",stage="ALPHA"}} {value}'.encode()


def recognised(server: Server) -> ConnectedServer:
    return ask(cast(Client, server))


ON, OFF = {"DRADeviceCompatibilityGroups": 1}, {"DRADeviceCompatibilityGroups": 0}
EMULATED = {"major": "1", "minor": "37", "emulationMajor": "1", "emulationMinor": "36"}
WITH_GATE = Profile("1.37", {"DRADeviceCompatibilityGroups": True})
WITHOUT_GATE = Profile("1.37", {})
PROPOSALS = Profile("kep", {})

# KEP-5963, "Version Skew Strategy": rows are API servers; whatever the gate of the sidecar, these decide where snapshots are.
SKEW = {
    "old": (Server(version={"major": "1", "minor": "36"}), NotKept, NotKept),
    "old-with-a-plus": (Server(version={"major": "1", "minor": "36+"}), NotKept, NotKept),
    "emulated": (Server(version=EMULATED, gates={}), NotKept, NotKept),
    "gate-off": (Server(gates=OFF), NotKept, NotKept),
    "gate-on": (Server(gates=ON), InConfiguration, None),
    # rather refuse too much than allocate what goes not together
    "gate-unknown": (Server(), InConfiguration, None),
    "crds": (Server(CRD_SCHEMAS, gates=OFF), InConfiguration, InResults),
    "crds-without-the-field-of-results": (Server(OLD_CRD_SCHEMAS), InConfiguration, None),
    "crds-without-groups": (
        Server({**CRD_SCHEMAS, "io.k8s.resource.v1.ResourceSlice": _of_slices(_properties())}),
        NotKept,
        NotKept,
    ),
}


@pytest.mark.parametrize(("server", "released", "proposed"), SKEW.values(), ids=SKEW)
def test_where_snapshots_are(server: Server, released: type, proposed: type | None) -> None:
    """Where the API server has no groups, nothing is remembered; otherwise it depends on what the sidecar knows."""
    found = recognised(server)
    assert type(found.snapshots(WITH_GATE)) is released
    assert type(found.snapshots(WITHOUT_GATE)) is released
    if proposed is not None:
        assert type(found.snapshots(PROPOSALS)) is proposed


UNSUITABLE = {
    "not-served": (
        Server(versions=None),
        "the API server does not serve resource.k8s.io: it needs 1.34 or newer, or the CRDs",
    ),
    "old-versions": (
        Server(versions=("v1beta2", "v1beta1")),
        (
            "the API server serves resource.k8s.io in v1beta2, v1beta1 only; the sidecar needs v1, which 1.34 and newer "
            "serve unless their --runtime-config says otherwise"
        ),
    ),
    "no-status": (
        Server(resources=tuple(each for each in RESOURCES if "status" not in each)),
        (
            "resource.k8s.io/v1 lacks resourceclaims/status: the sidecar needs all of deviceclasses, resourceslices, "
            "resourceclaims, resourceclaimtemplates, resourceclaims/status"
        ),
    ),
}


@pytest.mark.parametrize(("server", "message"), UNSUITABLE.values(), ids=UNSUITABLE)
def test_unsuitable(server: Server, message: str) -> None:
    """A server without v1 of all that is needed is refused, with what it has."""
    with pytest.raises(Unsuitable) as refused:
        recognised(server)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("server", "profile", "serves", "message"),
    [
        (Server(), WITH_GATE, BUILT_IN, ""),
        (Server(CRD_SCHEMAS), PROPOSALS, CUSTOM_RESOURCES, ""),
        (Server(CRD_SCHEMAS), WITH_GATE, CUSTOM_RESOURCES, ""),
        (
            Server(CRD_SCHEMAS),
            PROPOSALS,
            BUILT_IN,
            "CRDs serve resource.k8s.io, so apiServer.serves must be CustomResources",
        ),
        (
            Server(),
            WITH_GATE,
            CUSTOM_RESOURCES,
            "the API server itself serves resource.k8s.io, so apiServer.serves must be BuiltIn",
        ),
        (
            Server(),
            PROPOSALS,
            BUILT_IN,
            "apiServer.release is kep, but only the project's CRDs have the fields of proposals",
        ),
        (
            Server(OLD_CRD_SCHEMAS),
            PROPOSALS,
            CUSTOM_RESOURCES,
            (
                "apiServer.release is kep, but the CRD of resourceclaims does not have compatibilityGroups in results: "
                "install the project's CRDs"
            ),
        ),
    ],
)
def test_objections(server: Server, profile: Profile, serves: str, message: str) -> None:
    """A configuration that cannot be right is refused rather than followed: snapshots would get lost."""
    assert objections(recognised(server), profile, serves) == message


def test_differences() -> None:
    """Releases and gates may differ; somebody should know."""
    emulated = Server(version=EMULATED, gates={"DRAPrioritizedList": 0, "SomethingElse": 1})
    assert differences(recognised(emulated), WITHOUT_GATE) == [
        "the API server answers as 1.36, apiServer.release is 1.37",
        "DRAPrioritizedList is on here and off at the API server",
    ]
    assert differences(recognised(Server(gates=ON)), WITHOUT_GATE) == [
        "DRADeviceCompatibilityGroups is off here and on at the API server"
    ]
    assert differences(recognised(Server(gates=ON)), WITH_GATE) == []
    assert differences(recognised(Server()), WITH_GATE) == [
        "the feature gates of the API server are not known, since its metrics may not be read"
    ]
    assert differences(recognised(Server(CRD_SCHEMAS, version={})), PROPOSALS) == []


# --- the check


def check(server: Server, profile: Profile = WITH_GATE, serves: str = BUILT_IN) -> ServerCheck:
    return ServerCheck(cast(Client, server), profile, serves)


def logged(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [
        (each.getMessage(), cast(Any, each).fields.get("reason", cast(Any, each).fields.get("difference")))
        for each in caplog.records
    ]


def test_nothing_begins_before(caplog: pytest.LogCaptureFixture) -> None:
    """Until the server is recognised nothing is read from it; what is wrong is logged once."""
    server = Server(versions=None)
    begun, ending = Event(), Event()
    checked = check(server)

    def reflect(given: Event) -> None:
        assert given is ending
        assert checked.recognized.is_set()
        begun.set()

    thread = Thread(target=checked.first(reflect), args=(ending,))
    thread.start()
    checked.ask()
    checked.ask()
    assert not begun.is_set()
    assert logged(caplog) == [("API server not suitable", UNSUITABLE["not-served"][1])]
    server.answers[GROUP] = (200, {"versions": [{"version": "v1"}]})
    checked.ask()
    assert begun.wait(PATIENCE)
    thread.join(PATIENCE)


def test_end_before_recognition() -> None:
    """Who waits for the server ends when told to."""
    ending = Event()
    ending.set()
    check(Server(versions=None)).first(lambda _: pytest.fail("begun"))(ending)


def test_server_that_does_not_answer(caplog: pytest.LogCaptureFixture) -> None:
    """It is asked again."""
    server = Server()
    server.answers["/version"] = (503, {"message": "etcd is away"})
    checked = check(server)
    checked.ask()
    assert not checked.recognized.is_set()
    assert logged(caplog) == [("API server not recognized", "it does not answer: etcd is away")]


def test_snapshots_of_the_recognised_server() -> None:
    """They are written and read where that server keeps them."""
    groups = {"s": ["a"]}
    kept = check(Server(gates=ON))
    kept.ask()
    assert kept.read(claim_with(entry())) != claim_with(entry())
    assert kept.with_snapshot(allocation(groups=groups), UID) != allocation(groups=groups)
    dropped = check(Server(gates=OFF))
    dropped.ask()
    assert dropped.read(claim_with(entry())) == claim_with(entry())
    assert dropped.with_snapshot(allocation(groups=groups), UID) == allocation()


def test_server_that_changes(caplog: pytest.LogCaptureFixture) -> None:
    """The gate of the API server takes effect with the next start of the sidecar, and somebody is told."""
    server = Server(gates=ON)
    checked = check(server)
    checked.ask()
    server.gates = copy.copy(OFF)
    checked.ask()
    checked.ask()
    assert checked.recognized.is_set()
    assert logged(caplog) == [
        (
            "API server has changed",
            "it no longer has compatibility groups; the sidecar takes notice when it is started again",
        )
    ]
    assert checked.read(claim_with(entry())) != claim_with(entry())
