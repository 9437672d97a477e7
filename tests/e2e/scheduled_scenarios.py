"""Random clusters of 3 to 8 nodes in which an error on one node may be the end of a pod that fits on another."""

from __future__ import annotations

from random import Random

from allocator.explaining.changes import details_of, parts, with_details
from allocator.explaining.finder import Remedy
from allocator.explaining.snapshot import Change, ClusterContent, Snapshot
from allocator.time_limit import UNLIMITED
from resourceapi.objects import Object
from resourceapi.records.claims import Claim, ExactRequest
from resourceapi.records.classes import DeviceClass
from resourceapi.records.nodes import HOSTNAME
from resourceapi.records.taints import Taint
from tests.allocator.explaining.scenarios import OWN
from tests.allocator.objects import (
    ALL_FEATURES,
    DRIVER,
    alternative,
    claim,
    device,
    device_class,
    exactly,
    first_of,
    held,
    node,
    slice_of,
)
from tests.e2e.scheduled import Setting

SELECTORS = (
    f"{OWN}.model == 1",
    f"'model' in {OWN} && {OWN}.model == 0",
    f"has({OWN}.size) && {OWN}.size > 1",
    f"{OWN}.size > 0 || {OWN}.model == 1",
    f"{OWN}.?model.orValue(0) == 1",
)
CLASSES = (device_class(), device_class("sized", [f"{OWN}.size >= 1"]))


def setting(name: str, seed: int) -> Setting:
    """One of them; `name` keeps its objects apart from those of others."""
    random = Random(seed)
    nodes = [node(f"{name}-n{place}") for place in range(random.randint(3, 8))]
    fussy = random.random() < 0.7
    slices, holders = [], []
    for place, each in enumerate(nodes):
        where = each.name
        devices = [_device(random, f"d{number}", fussy) for number in range(random.randint(0, 4))]
        count = 2 if random.random() < 0.03 else 1
        if devices:
            slices.append(slice_of(*devices, name=where, pool=where, nodeName=where, count=count))
        if devices and random.random() < 0.5:
            taken = random.choice(devices)["name"]
            holders.append(held(taken, pool=where, name=f"{name}-h{place}"))
        if random.random() < 0.08:
            nodes[place] = each._replace(taints=(Taint("k", "v", "NoSchedule"),))
    claims = [_claim(random, f"{name}-c{place}") for place in range(random.choice((1, 1, 1, 2)))]
    return Setting(name, nodes, slices, holders, claims)


def snapshot_of(asked: Setting) -> Snapshot:
    """The setting as explanations take it."""
    classes = {each.name: each for each in CLASSES}
    return Snapshot(
        ALL_FEATURES,
        ClusterContent(asked.nodes, classes, asked.slices, map(Claim, asked.holders)),
        time_limit=UNLIMITED,
    )


def _device(random: Random, name: str, fussy: bool) -> Object:
    """Where devices are `fussy`, hardly any lacks an attribute that selectors look up."""
    attributes: dict[str, int] = {}
    lacking = 0.04 if fussy else 0.2
    if random.random() > lacking:
        attributes["model"] = random.choice((0, 1, 1))
    if random.random() > lacking:
        attributes["size"] = random.choice((1, 2, 3))
    fields: Object = {"attributes": attributes} if attributes else {}
    if random.random() < 0.1:
        fields["taints"] = [{"key": random.choice("kl"), "value": "v", "effect": "NoSchedule"}]
    return device(name, **fields)


def _claim(random: Random, name: str) -> Object:
    requests = [_request(random, each) for each in "pq"[: random.choice((1, 1, 2))]]
    constraints = []
    if random.random() < 0.35:
        kind = random.choice(("matchAttribute", "matchAttribute", "distinctAttribute"))
        constraints.append({kind: f"{DRIVER}/{random.choice(('model', 'size'))}"})
    return claim(*requests, name=name, constraints=constraints)


def _request(random: Random, name: str) -> Object:
    if random.random() < 0.25:
        ways = [_details(random) for _ in range(2)]
        return first_of(
            name,
            *(alternative(f"w{way}", count, kind, **more) for way, (count, kind, more) in enumerate(ways)),
        )
    count, device_class, fields = _details(random)
    return exactly(name, count, device_class, **fields)


def _details(random: Random) -> tuple[int | None, str, Object]:
    fields: Object = {}
    if random.random() < 0.6:
        fields["selectors"] = random.sample(SELECTORS, random.choice((1, 1, 1, 2)))
    count = random.choice((1, 1, 1, 2, 3, None))
    return count, random.choice(("any", "any", "any", "sized")), fields


def helped(asked: Setting, remedy: Remedy) -> tuple[Setting, list[DeviceClass]]:
    """The setting with what a remedy suggests, and the DeviceClasses that it needs."""
    variation = remedy.variation
    released = variation.released or frozenset()
    change = Change(released, variation.without_taint, None, variation.class_selector)
    snapshot = snapshot_of(asked).changed(change, None, UNLIMITED)
    claims, classes = variation.claims, []
    if variation.class_selector is not None:
        old = variation.class_selector[0]
        new = f"{old}-{asked.name}"
        classes.append(snapshot.classes[old]._replace(name=new))
        for part in parts(claims):
            if details_of(claims, part).device_class == old:
                claims = with_details(claims, part, device_class=new)
    pod: Object = {}
    if variation.opened:
        pod["tolerations"] = [{"operator": "Exists"}]
    if variation.avoided:
        elsewhere = {"key": HOSTNAME, "operator": "NotIn", "values": sorted(variation.avoided)}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [elsewhere]}]}
        pod["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    slices, holders = list(snapshot.slices.values()), [each.object for each in snapshot.claims.values()]
    return Setting(
        asked.name, asked.nodes, slices, holders, [_written(each) for each in claims], pod
    ), classes


def _written(claim: Claim) -> Object:
    """A changed claim as it is created."""
    requests: list[Object] = []
    for request in claim.devices.requests:
        details = [_written_details(each) for each in request.alternatives]
        requests.append(
            {
                "name": request.name,
                **({"firstAvailable": details} if request.is_list else {"exactly": details[0]}),
            }
        )
    constraints = []
    for each in claim.devices.constraints:
        attributes = {"matchAttribute": each.match, "distinctAttribute": each.distinct}
        given = {name: attribute for name, attribute in attributes.items() if attribute is not None}
        constraints.append({"requests": list(each.requests), **given})
    devices = {"requests": requests, "constraints": constraints, "config": list(claim.devices.config)}
    return {**claim.object, "spec": {"devices": devices}}


def _written_details(details: ExactRequest) -> Object:
    found: Object = {
        "name": details.name,
        "deviceClassName": details.device_class,
        "allocationMode": details.mode,
        "count": details.number,
        "adminAccess": details.admin_access,
        "selectors": [{"cel": {"expression": each}} for each in details.selectors],
        "tolerations": list(details.tolerations),
        "capacity": details.capacity and {"requests": dict(details.capacity)},
    }
    return {name: value for name, value in found.items() if value}
