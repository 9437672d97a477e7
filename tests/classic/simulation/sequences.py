"""The writes of a negotiation in one form, whether a simulation or a real cluster made them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from classic.simulation.scenario import NAMES, Scenario, ready_scenario, scenario_from
from classic.simulation.timeline import Change, Entry, changes
from resourceapi.manifests import entries, mapping, text

#: Objects by which kube-scheduler and drivers talk, and the binding, which ends it.
KINDS = {"podschedulingcontexts": "PodSchedulingContext", "resourceclaims": "ResourceClaim", "pods": "Pod"}


class Expected(NamedTuple):
    """What is to happen in a scenario, here and on the real kube-scheduler.

    `unordered`: of the writes, those that come before or after others by chance, or not at all. `message`: what the
    scheduler says of a pod that it cannot bind, or a part of that.
    """

    attempts: int
    node: str
    writes: list[str]
    unordered: list[str]
    message: str


def expectations() -> dict[str, Expected]:
    """The expectations by scenario."""
    found = yaml.safe_load(Path(__file__).with_name("sequences.yaml").read_text())
    return {
        name: Expected(
            each["attempts"],
            each["node"],
            each["writes"],
            each.get("unordered") or [],
            each.get("message", ""),
        )
        for name, each in found.items()
    }


def scenario_named(name: str) -> Scenario:
    """One of the scenarios that come with the program, or of those beside this file."""
    if name in NAMES:
        return ready_scenario(name)
    file = Path(__file__).parent / "scenarios" / f"{name}.yaml"
    return scenario_from(yaml.safe_load_all(file.read_text()), "default")


def by_actor(writes: Iterable[str]) -> dict[str, list[str]]:
    """The writes of each one; between them, the order may be by chance."""
    found: dict[str, list[str]] = {}
    for each in writes:
        found.setdefault(each.partition(":")[0], []).append(each)
    return found


def simulated(timeline: Iterable[Entry], pod: str) -> list[str]:
    """The writes about a pod in a simulation."""
    return [
        _line(each.actor, each.write.verb.partition(" ")[0], each.write.kind, each.write.changes)
        for each in timeline
        if each.write is not None
        and each.actor != "user"
        and _concerns(each.write.kind, each.write.name, each.write.changes, pod)
    ]


def recorded(events: Iterable[Mapping[str, Any]], pod: str) -> Iterator[str]:
    """The writes about a pod in the audit log of a real cluster, by the user agents."""
    stored: dict[tuple[str, str], Any] = {}
    for event in events:
        reference = event["objectRef"]
        kind = KINDS[reference["resource"]]
        actor = event.get("userAgent", "").partition("/")[0]
        after = None if event["verb"] == "delete" else event.get("responseObject")
        if reference.get("subresource") == "binding":
            target = text(mapping(event, "requestObject", "target"), "name")
            if f"{reference['namespace']}/{reference['name']}" == pod:
                yield _line(actor, "create", "Pod", [Change("spec.nodeName", None, target)])
            continue
        name = reference.get("name") or text(mapping(after, "metadata"), "name")
        full_name = f"{reference['namespace']}/{name}"
        place = (kind, full_name)
        changed = changes(stored.get(place), after) if after else ()
        stored[place] = after
        if actor and _concerns(kind, full_name, changed, pod):
            yield _line(actor, event["verb"], kind, changed)


def _concerns(kind: str, name: str, changed: Iterable[Change], pod: str) -> bool:
    if kind == "Pod":
        return name == pod and any(change.field == "spec.nodeName" for change in changed)
    return name == pod or name.startswith(f"{pod}-")


def _line(actor: str, verb: str, kind: str, changed: Iterable[Change]) -> str:
    verb = verb if verb in ("create", "delete") and kind != "Pod" else "write"
    fields = ", ".join(
        f"{change.field.partition('.')[2]}={_value(change)}"
        for change in changed
        if change.field != "spec.allocationMode"  # a default of the API server
    )
    return f"{actor}: {verb} {kind} {fields}".rstrip()


def _value(change: Change) -> str:
    after, name = change.after, change.field.partition(".")[2]
    if after is None:
        return ""
    if name == "allocation":
        terms = entries(mapping(after, "availableOnNodes"), "nodeSelectorTerms")
        return "+".join(value for term in terms for each in term["matchFields"] for value in each["values"])
    if name == "reservedFor":
        return "+".join(each["name"] for each in after)
    if name == "resourceClaims":
        told = [each for each in after if each not in (change.before or ())]
        return " ".join(f"{each['name']}({'+'.join(each.get('unsuitableNodes') or ())})" for each in told)
    return "+".join(after) if isinstance(after, list) else str(after)
