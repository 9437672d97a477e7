"""How many more of something fit, as the cluster is and after a change, and which new nodes they would need. The cluster stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from allocator.expansion import Expansion, Template
from allocator.time_limit import OutOfTime, TimeLimit
from claimcheck.answers.cluster_state import ClusterState
from claimcheck.answers.devices.capacity import capacity
from claimcheck.answers.devices.cluster_devices import ClusterDevices
from claimcheck.answers.impact.devices_afterwards import DevicesAfterwards, StateChange, devices_afterwards
from claimcheck.answers.new_nodes import (
    NodeKind,
    new_nodes_for,
    node_kinds,
    patched,
    template_of,
    templates_in,
)
from claimcheck.answers.outcome import Failure
from claimcheck.answers.reading import read_files, readable
from claimcheck.answers.room import MOST_COPIES, room_for
from claimcheck.answers.scenario import Reader
from cluster.workloads import Workload
from commandline.devices import capacity_report
from commandline.page import texts
from commandline.page.questions import given, whole
from documents.manifest import Manifest, Unwritten
from resourceapi.errors import Unanswerable
from resourceapi.kinds import CLAIM
from resourceapi.manifests import name_of, namespace_of
from resourceapi.model.versions import GROUP
from serving.browser_pages import Query
from serving.routes import HTTPError

Json = dict[str, Any]
#: How long each objective may take that counts for how many more there is room, and the selectors of all classes.
ROOM_SECONDS, CAPACITY_SECONDS = 2.0, 4.0
#: How long it may take to find out what becomes of the devices after a change, and which new nodes help.
CHANGE_SECONDS, NEW_NODES_SECONDS = 10.0, 8.0
#: Kinds of nodes to choose from, and how many of them are tried as new ones.
MOST_KINDS, MOST_TEMPLATES = 100, 8
#: New nodes that a change can add, devices in a claim of a class, and pods that leave and are named.
MOST_NODES, MOST_DEVICES, MOST_LEAVING = 100, 1_000, 100
#: The parts of a question that are about a change.
_CHANGE = ("applied", "cordon", "like", "nodes")


def change_in(query: Query) -> Query:
    """The part of a question that is about a change; empty if it is about the cluster as it is."""
    return {key: query[key] for key in _CHANGE if query.get(key)}


def changed(devices: ClusterDevices, change: Query) -> DevicesAfterwards:
    """The devices after a change that a question names."""
    state, limit = devices.state, TimeLimit(CHANGE_SECONDS)
    try:
        asked = StateChange(
            _read(change["applied"]) if "applied" in change else (),
            change.get("cordon", ""),
            template_of(state, change["like"]) if "like" in change else None,
            whole(change, "nodes", MOST_NODES) if "like" in change else 0,
        )
        return devices_afterwards(devices, asked, limit)
    except Unanswerable as error:
        raise HTTPError(str(error), 422) from None
    except OutOfTime:
        raise HTTPError(f"it took longer than {CHANGE_SECONDS:g} s", 503) from None


def _read(text: str) -> list[Manifest]:
    failures: list[Failure] = []
    found = list(readable(read_files(texts.named(text)), failures))
    if failures:
        raise Unanswerable(failures[0].message)
    return found


def capacity_after(found: DevicesAfterwards) -> Json:
    """How much is free then."""
    leaving = [each.key for each in found.leaving]
    return {
        **capacity_report.document(capacity(found.devices, TimeLimit(CAPACITY_SECONDS))),
        "leaving": leaving[:MOST_LEAVING],
        "moreLeaving": max(0, len(leaving) - MOST_LEAVING),
    }


def kinds_of_nodes(devices: ClusterDevices) -> list[Json]:
    """What kinds of nodes there are to have more of."""
    return [_kind(each) for each in islice(node_kinds(devices), MOST_KINDS)]


def _kind(kind: NodeKind) -> Json:
    return {
        "node": kind.node,
        "nodes": kind.nodes,
        "devices": [each._asdict() for each in kind.devices],
    }


def room(found: DevicesAfterwards, requesting: Iterable[Manifest], query: Query) -> Json:
    """How many more like an object of the cluster, like the first in a text, or of a class, there is room for."""
    state, limit = found.devices.state.copy(), TimeLimit(ROOM_SECONDS)
    try:
        workload = _asked(state, requesting, query, limit)
        resources = state.node_resources(without={each.key for each in found.leaving})
        copies = room_for(found.devices.snapshot, workload, resources, ROOM_SECONDS)
    except OutOfTime:
        raise HTTPError(f"it took longer than {ROOM_SECONDS:g} s", 503) from None
    return {"object": workload.title, **capacity_report.room_document(copies)}


def new_nodes(devices: ClusterDevices, requesting: Iterable[Manifest], query: Query) -> Json:
    """Which nodes would be needed for a number of copies."""
    state, limit = devices.state.copy(), TimeLimit(NEW_NODES_SECONDS)
    copies = whole(query, "copies", MOST_COPIES)
    try:
        workload = _asked(state, requesting, query, limit)
        if query.get("template"):
            own = state.empty()
            own.learn(read_files(texts.named(query["template"])))
            if own.failures:
                raise HTTPError(own.failures[0].message, 422)
            templates: Sequence[Template] = templates_in(own)
        else:
            kinds = islice(node_kinds(devices), MOST_TEMPLATES)
            templates = [patched(template_of(state, each.node), state) for each in kinds]
        found = new_nodes_for(
            devices.snapshot, workload, copies, templates[:MOST_TEMPLATES], state.node_resources(), limit
        )
    except OutOfTime:
        raise HTTPError(f"it took longer than {NEW_NODES_SECONDS:g} s", 503) from None
    except Unanswerable as error:
        raise HTTPError(str(error), 422) from None
    return {"object": workload.title, "copies": copies, **_expansion(found)}


def _expansion(found: Expansion) -> Json:
    return {
        "placedWithout": sum(bool(each.node) for each in found.placements),
        "complete": found.complete,
        "ways": [
            {
                "nodes": [{"like": name, "count": count} for name, count in each.nodes.items() if count],
                "total": each.total,
                "left": len(each.left),
            }
            for each in found.options
        ],
    }


def _asked(state: ClusterState, requesting: Iterable[Manifest], query: Query, limit: TimeLimit) -> Workload:
    """What is asked about.

    :raises HTTPError: if it is nothing that can be placed.
    """
    workload = _named_in(state, requesting, query, limit)
    if said := workload.problem or workload.waits_for:
        raise HTTPError(said if workload.problem else f"it waits for {said}", 422)
    return workload


def _named_in(
    state: ClusterState, requesting: Iterable[Manifest], query: Query, limit: TimeLimit
) -> Workload:
    if "text" in query:
        return texts.workloads_in(state, query["text"], limit)[0]
    manifest: Manifest | None
    if "deviceClass" in query:
        manifest = _of_class(state, given(query, "deviceClass"), whole(query, "count", MOST_DEVICES))
    else:
        kind, namespace, name = (given(query, key) for key in ("kind", "namespace", "name"))
        manifest = next((each for each in requesting if _named(each) == (kind, namespace, name)), None)
        if manifest is None:
            raise HTTPError(f"there is no {kind} {namespace}/{name} that requests devices", 404)
    workloads = Reader(state, "default").workloads([manifest], limit)
    if not workloads:
        raise HTTPError("it requests no devices", 422)
    return workloads[0]


def _named(manifest: Manifest) -> tuple[str, str, str]:
    value = manifest.value
    return value["kind"], namespace_of(value, "default"), name_of(value)


def _of_class(state: ClusterState, name: str, count: int) -> Manifest:
    """A claim for a number of devices of a class."""
    if name not in state.classes:
        raise HTTPError(f"there is no DeviceClass {name}", 404)
    request = {"name": "devices", "exactly": {"deviceClassName": name, "count": count}}
    value: Json = {
        "apiVersion": f"{GROUP}/v1",
        "kind": CLAIM.name,
        "metadata": {"name": f"{count}-of-{name}"[:253], "namespace": "default"},
        "spec": {"devices": {"requests": [request]}},
    }
    manifest = Unwritten("", value)
    state.learn([manifest], new=True)
    return manifest
