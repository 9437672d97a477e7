"""Snapshots of compatibility groups: kept with the allocation, read from what the API server has stored."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from allocator.features import Features
from allocator.scheduling import Mode
from allocator.time_limit import UNLIMITED
from cluster.group_snapshots import DRIVER as SNAPSHOTS
from cluster.group_snapshots import InConfiguration, InResults, NoPlace, NotKept, Snapshots
from resourceapi import deep_json, limits
from resourceapi.decoding import decode
from resourceapi.encoding import encode
from resourceapi.json_text import Raw
from resourceapi.model.versions import SCHEMAS, SCHEMAS_WITH_PROPOSALS
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.schema import Schema
from tests.allocator.objects import ALL_FEATURES, DRIVER, cluster, decoded, node, placed, without
from tests.scheduler.group_scenes import (
    COUNTERS,
    EXAMPLE_4,
    MIG,
    SCENES,
    VGPU,
    Part,
    Scene,
    slices,
    spec_asking,
)

SERVERS: dict[str, tuple[Schema, Snapshots]] = {
    "built-in": (SCHEMAS["v1"], InConfiguration()),
    "crds": (SCHEMAS_WITH_PROPOSALS["v1"], InResults()),
}
UID = "11111111-2222-3333-4444-555555555555"


class Server:
    """Stores what one stores, and shows it as one does: fields that it does not know are gone."""

    def __init__(self, name: str) -> None:
        self.schema, self.snapshots = SERVERS[name]
        self.claims: list[Object] = []

    def allocate(self, claim: Object, uid: str) -> None:
        """Store a claim with the allocation that the allocator has given it."""
        metadata = {**claim["metadata"], "uid": uid}
        written = self.snapshots.with_snapshot(claim["status"]["allocation"], uid)
        full = {**claim, "metadata": metadata, "status": {"allocation": written}}
        text = deep_json.dumps(encode(SCHEMAS_WITH_PROPOSALS["v1"], "ResourceClaim", full))
        self.claims.append(decode(self.schema, "ResourceClaim", deep_json.loads(text)).object)

    def holders(self) -> list[Object]:
        """The claims as a sidecar that has just started reads them."""
        return [self.snapshots.read(claim) for claim in self.claims]


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> Server:
    return Server(request.param)


def objects(parts: tuple[Part, ...], name: str = "n") -> list[Object]:
    return [decoded("ResourceSlice", each) for each in slices(parts, name)]


def ask(server: Server, parts: tuple[Part, ...], type: str, features: Features = ALL_FEATURES) -> str | None:
    """The device that a new claim gets from a sidecar that has just started."""
    state = cluster(*objects(parts), features=features, holders=server.holders())
    number = len(server.claims)
    metadata = {"name": f"c{number}", "namespace": "ns"}
    wanted = decoded("ResourceClaim", {"metadata": metadata, "spec": spec_asking(type)})
    answer = state.place([Claim(wanted)], Mode.FIRST_FIT, UNLIMITED)
    if not answer.placed:
        return None
    ((claim, allocation),) = answer.allocated.items()
    server.allocate(claim.allocated(allocation).object, f"{UID}-{number}")
    [result] = allocation["devices"]["results"]
    return str(result["device"])


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_examples(server: Server, scene: Scene) -> None:
    """Each claim gets what KEP-5963 says, of a sidecar that knows nothing but what is stored."""
    assert [(type, ask(server, scene.parts, type)) for type, _ in scene.asked] == list(scene.asked)


@pytest.mark.parametrize("groups", [(), ("vgpu",), ("mig", "vgpu")])
def test_mutated_slice(server: Server, groups: tuple[str, ...]) -> None:
    """What the claim remembers counts, not what its device declares now."""
    assert ask(server, (*MIG, *VGPU), "mig") == "mig-0"
    changed = tuple(part._replace(groups=groups) if part.name == "mig-0" else part for part in (*MIG, *VGPU))
    assert ask(server, changed, "vgpu") is None
    assert ask(server, changed, "mig") == "mig-1"


def test_gone_device(server: Server) -> None:
    """It counts as well when no slice has the device any more."""
    assert ask(server, (*MIG, *VGPU), "mig") == "mig-0"
    assert ask(server, VGPU, "vgpu") is None


def test_another_node_admits(server: Server) -> None:
    """Where one node refuses a device for its groups, another one serves the claim."""
    assert ask(server, (*MIG, *VGPU), "mig") == "mig-0"
    state = cluster(
        *objects((*MIG, *VGPU)),
        *objects((*MIG, *VGPU), "o"),
        nodes=[node("n"), node("o")],
        holders=server.holders(),
    )
    wanted = decoded("ResourceClaim", {"metadata": {"name": "w"}, "spec": spec_asking("vgpu")})
    assert state.place([Claim(wanted)], Mode.FIRST_FIT, UNLIMITED).placed == "o"


def test_upgrade_downgrade_upgrade(server: Server) -> None:
    """Without the gate neither devices with groups are given out, nor others of a counter set on which some are held."""
    off = without("DRADeviceCompatibilityGroups")
    parts = (*MIG, *VGPU, Part("plain-0", 20))
    assert ask(server, parts, "mig") == "mig-0"
    before = copy.deepcopy(server.claims)
    assert [ask(server, parts, type, off) for type in ("mig", "vgpu", "plain")] == [None] * 3
    assert server.claims == before
    assert ask(server, parts, "vgpu") is None
    assert ask(server, parts, "mig") == "mig-1"


def test_allocated_before_the_feature(server: Server) -> None:
    """A claim without a snapshot has no groups, whatever its device declares since; it is not judged again."""
    without_groups = tuple(part._replace(groups=()) for part in MIG)
    assert ask(server, without_groups, "mig") == "mig-0"
    before = copy.deepcopy(server.claims)
    assert ask(server, (*MIG, Part("plain-0", 20)), "mig") is None
    assert ask(server, (*MIG, Part("plain-0", 20)), "plain") == "plain-0"
    assert server.claims[:1] == before


def test_server_without_groups() -> None:
    """What was written while the API server had groups counts no longer: it is as before KEP-5963."""
    for name in SERVERS:
        server = Server(name)
        assert ask(server, EXAMPLE_4, "foo") == "foo-0"
        server.snapshots = NotKept()
        bare = tuple(part._replace(groups=()) for part in EXAMPLE_4)
        assert ask(server, bare, "baz") == "baz-0"
        assert server.snapshots.with_snapshot(allocation(groups={"s": ["a"]}), UID) == allocation()


# --- as configuration


def allocation(
    *config: Object, groups: Object | None = None, results: int = 1, driver: str = DRIVER
) -> Object:
    more = {} if groups is None else {"compatibilityGroups": groups}
    listed = [
        {"request": "r", "driver": driver, "pool": "p", "device": f"d{place}", **more}
        for place in range(results)
    ]
    return {"devices": {"results": listed, **({"config": list(config)} if config else {})}}


def entry(source: str = "FromClass", driver: str = SNAPSHOTS, **changes: Any) -> Object:
    """A good snapshot of the claim with the uid, but for the changes; None takes a member away."""
    results = [{"compatibilityGroups": {COUNTERS: ["mig"]}, "result": 0}]
    members = {
        "apiVersion": "claimcheck.example.com/v1",
        "claim": UID,
        "kind": "CompatibilityGroupsSnapshot",
        "results": results,
        **changes,
    }
    parameters = {name: value for name, value in members.items() if value is not None}
    return {"source": source, "opaque": {"driver": driver, "parameters": parameters}}


def claim_with(*config: Object, uid: str = UID) -> Object:
    metadata = {"name": "c", "namespace": "ns", "uid": uid}
    return decoded("ResourceClaim", {"metadata": metadata, "status": {"allocation": allocation(*config)}})


def groups_read(claim: Object) -> object:
    [result] = InConfiguration().read(claim)["status"]["allocation"]["devices"]["results"]
    return result.get("compatibilityGroups")


def test_written_entry() -> None:
    """It comes after the others, says whose it is, and the result is as the API server knows it."""
    other = {"source": "FromClaim", "opaque": {"driver": DRIVER, "parameters": Raw({})}}
    groups = {COUNTERS: ["mig"]}
    given = allocation(other, groups=groups)
    before = copy.deepcopy(given)
    written = InConfiguration().with_snapshot(given, UID)
    assert given == before
    expected = entry()
    expected["opaque"]["parameters"] = Raw(expected["opaque"]["parameters"])
    assert written == allocation(other, expected)
    assert groups_read({"metadata": {"uid": UID}, "status": {"allocation": written}}) == groups


def test_entry_is_written_as_clients_write_it_that_have_read_it() -> None:
    """Clients in Go order the keys; the API server compares the bytes, and refuses a PUT of the status with others."""
    groups = {"set-b": ["b"], "set-a": ["z", "a"]}
    claim = {**claim_with(), "status": {"allocation": allocation(groups=groups, results=2)}}
    claim["status"]["allocation"] = InConfiguration().with_snapshot(claim["status"]["allocation"], UID)
    sent = encode(SCHEMAS["v1"], "ResourceClaim", claim)["status"]["allocation"]["devices"]["config"]
    parameters = sent[0]["opaque"]["parameters"]
    in_order = json.dumps(parameters, sort_keys=True, separators=(",", ":"))
    assert deep_json.as_go_writes_it(parameters) == in_order


def test_nothing_to_write() -> None:
    """An allocation of devices without groups stays as it is."""
    given = allocation({"source": "FromClaim", "opaque": {"driver": DRIVER, "parameters": Raw({})}})
    assert InConfiguration().with_snapshot(given, UID) is given
    assert InConfiguration().read({"metadata": {}}) == {"metadata": {}}


def test_classes_write_no_snapshots() -> None:
    """What a class configures for the driver is left out: the one entry there is ours, or none."""
    forged = entry(claim=UID)
    assert InConfiguration().with_snapshot(allocation(forged), UID) == allocation()
    written = InConfiguration().with_snapshot(allocation(forged, groups={"s": ["a"]}), UID)
    [only] = written["devices"]["config"]
    assert only["opaque"]["parameters"].value["results"][0]["compatibilityGroups"] == {"s": ["a"]}


FORGED = {
    "of the claim's author": entry(source="FromClaim"),
    "another driver": entry(driver="other.example.com"),
    "another claim": entry(claim="other"),
    "no claim": entry(claim=None),
    "another version": entry(apiVersion="claimcheck.example.com/v2"),
    "another kind": entry(kind="Other"),
    "no results": entry(results=None),
    "results not a list": entry(results={"result": 0}),
    "a result that is none": entry(results=["x"]),
    "a result beyond": entry(results=[{"result": 1, "compatibilityGroups": {}}]),
    "a result before": entry(results=[{"result": -1, "compatibilityGroups": {}}]),
    "true for a number": entry(results=[{"result": False, "compatibilityGroups": {}}]),
    "the same result twice": entry(results=[{"result": 0, "compatibilityGroups": {}}] * 2),
    "no groups": entry(results=[{"result": 0}]),
    "groups not a map": entry(results=[{"result": 0, "compatibilityGroups": ["mig"]}]),
    "names not a list": entry(results=[{"result": 0, "compatibilityGroups": {"s": "mig"}}]),
    "names not texts": entry(results=[{"result": 0, "compatibilityGroups": {"s": [["mig"]]}}]),
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_forged(forged: Object) -> None:
    """What is no snapshot of the claim changes nothing, also beside one that is."""
    assert groups_read(claim_with(forged)) is None
    assert (
        groups_read(claim_with(forged, entry()))
        == groups_read(claim_with(entry(), forged))
        == {COUNTERS: ["mig"]}
    )


def test_forged_entries_share_a_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Who writes the status of claims does not choose how many lines they cost."""
    caplog.set_level("WARNING", "claimcheck")
    groups_read(claim_with(*[FORGED["another claim"]] * 64))
    assert caplog.messages == ["snapshot ignored"]


def test_claim_without_uid() -> None:
    """An object of a file has none, and no snapshot."""
    assert groups_read(claim_with(entry(claim=""), uid="")) is None


def test_forger_in_a_claim() -> None:
    """A claim that configures a snapshot gets it marked as its own, by the allocator, and it does not count."""
    server = Server("built-in")
    state = cluster(*objects((*MIG, *VGPU)))
    lie = entry(results=[{"result": 0, "compatibilityGroups": {COUNTERS: ["vgpu"]}}])["opaque"]
    spec = spec_asking("mig")
    spec["devices"]["config"] = [{"opaque": lie}]
    wanted = decoded("ResourceClaim", {"metadata": {"name": "c", "namespace": "ns"}, "spec": spec})
    server.allocate(placed(state, wanted), UID)
    config = server.claims[0]["status"]["allocation"]["devices"]["config"]
    assert [each["source"] for each in config] == ["FromClaim", "FromClass"]
    assert ask(server, (*MIG, *VGPU), "vgpu") is None
    assert ask(server, (*MIG, *VGPU), "mig") == "mig-1"


def test_largest_snapshot() -> None:
    """Of as many results, counter sets and groups as there can be: in entries that the API server takes, none lost."""
    longest = "x" * 61
    groups = {f"{longest}{number}": [f"{longest}a{number}", f"{longest}b{number}"] for number in range(2)}
    given = allocation(groups=groups, results=limits.ALLOCATION_RESULTS)
    written = InConfiguration().with_snapshot(given, UID)
    config = written["devices"]["config"]
    sizes = [len(deep_json.as_go_writes_it(each["opaque"]["parameters"].value)) for each in config]
    assert len(sizes) == 2
    assert max(sizes) <= limits.OPAQUE_PARAMETERS_BYTES
    read = InConfiguration().read({"metadata": {"uid": UID}, "status": {"allocation": written}})
    assert [each["compatibilityGroups"] for each in read["status"]["allocation"]["devices"]["results"]] == [
        groups
    ] * limits.ALLOCATION_RESULTS


@pytest.mark.parametrize("others", [limits.ALLOCATION_CONFIGS - 1, limits.ALLOCATION_CONFIGS])
def test_no_place(others: int) -> None:
    """Rather no allocation than one without its snapshot; without groups none is needed."""
    config = [{"source": "FromClass", "opaque": {"driver": DRIVER, "parameters": Raw({})}}] * others
    snapshots: Snapshots = InConfiguration()
    assert snapshots.with_snapshot(allocation(*config), UID) == allocation(*config)
    given = allocation(*config, groups={"s": ["a"]})
    if others < limits.ALLOCATION_CONFIGS:
        assert len(snapshots.with_snapshot(given, UID)["devices"]["config"]) == limits.ALLOCATION_CONFIGS
    else:
        with pytest.raises(NoPlace, match="have 64 configurations, which leaves no place"):
            snapshots.with_snapshot(given, UID)
