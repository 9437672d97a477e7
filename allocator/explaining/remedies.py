"""Remedies: changes that make a pod fit. Each has been tried with the allocator."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType

from allocator.explaining import request_remedies, spelling_remedies
from allocator.explaining.absent_names import AbsentName
from allocator.explaining.changes import Claims, details_of, parts, with_details, without
from allocator.explaining.conflicts import CONSTRAINT, REQUEST, demands
from allocator.explaining.finder import (
    GATE,
    NODE,
    PATCH,
    RELEASE,
    TAINT,
    TOLERATION,
    Finder,
    Remedy,
    together,
)
from allocator.explaining.holders import Holder, Owner, ended_with, released
from allocator.explaining.trials import MAX_NODES, Trials, Variation
from allocator.features import GATES, Features
from allocator.rules.standing import blocking_taints
from allocator.words import NOTHING, Words, for_all, joined
from resourceapi.kinds import RESOURCE_SLICE_PATCH
from resourceapi.phrases import number
from resourceapi.records.nodes import HOSTNAME
from resourceapi.records.taints import Taint

#: The most nodes that a text names.
MAX_AVOIDED = 8
#: The most allocated claims whose release is tried one by one.
MAX_RELEASED = 64
#: The most changes that are tried as the first of two, and how many pairs are told of each.
MAX_FIRST, MAX_SECOND = 3, 2
#: The most patches whose deletion is tried.
MAX_PATCHES = 8


def find(
    finder: Finder,
    names: Sequence[AbsentName] = (),
    gates: Mapping[str, frozenset[str]] = MappingProxyType({}),
    patches: Mapping[str, bool] = MappingProxyType({}),
) -> Iterator[Remedy]:
    """Remedies; those that the pod's owner can apply come first.

    :param names: attributes and capacities that no device has.
    :param gates: the feature gates that can be turned on, each with all that have to be for it.
    :param patches: those that have given values for which devices are refused, each with whether tenants may know it: the
        claims themselves ask about such a value.
    """
    claims = finder.trials.claims
    yield from spelling_remedies.names(finder, names)
    yield from spelling_remedies.capacities(finder)
    yield from spelling_remedies.values(finder)
    for part in parts(claims):
        yield from request_remedies.find(finder, part)
    yield from request_remedies.class_guards(finder)
    yield from request_remedies.common_count(finder)
    yield from _dropped(finder, CONSTRAINT)
    yield from _tolerations(finder)
    yield from _deleted_patches(finder, patches)
    if len([each for each in demands(claims) if each.kind == REQUEST]) > 1:
        yield from _dropped(finder, REQUEST)
    yield from _releases(finder)
    yield from _gates(finder, gates)


def pairs(
    finder: Finder,
    names: Sequence[AbsentName] = (),
    gates: Mapping[str, frozenset[str]] = MappingProxyType({}),
    patches: Mapping[str, bool] = MappingProxyType({}),
) -> Iterator[Remedy]:
    """Two changes together, the first of them one that was probably meant; parameters as for :func:`find`, which comes before."""
    told: set[frozenset[str]] = set()
    for first in finder.first_changes[:MAX_FIRST]:
        for second in islice(find(finder.after(first), names, gates, patches), MAX_SECOND):
            both = frozenset((first.text, second.text))
            if both in told:
                continue
            told.add(both)
            yield together((first,), second, second.nodes)


def on_other_nodes(
    finder: Finder, excluded: Mapping[str, Sequence[str]], openings: Mapping[str, Words]
) -> Iterator[Remedy]:
    """Remedies that exclude nodes with errors, or admit nodes that the pod's spec excludes.

    :param excluded: the excluded nodes, with the reasons.
    :param openings: what would change for each reason, if somebody can change it.
    """
    trials = finder.trials
    if finder.failing:
        shown = finder.failing[:MAX_AVOIDED]
        more = len(finder.failing) - len(shown)
        names = ", ".join(shown) + (f" and {more} more" if more else "")
        text = f"if its node affinity excluded {names}, where an error fails the attempt ({HOSTNAME} NotIn)"
        avoided = Variation(trials.claims, avoided=frozenset(finder.failing))
        yield from finder.confirm(NODE, for_all(text), names, None, avoided)
    opened: list[set[str]] = []
    for reasons in sorted(dict.fromkeys(map(tuple, excluded.values())), key=len):
        changes = [openings.get(each, NOTHING) for each in reasons]
        # With fewer changes, it fits already.
        if NOTHING in changes or any(fewer < set(reasons) for fewer in opened):
            continue
        nodes = [node for node, each in excluded.items() if set(each) <= set(reasons)]
        if any(trials.fits_on(node, trials.as_it_is) for node in nodes[:MAX_NODES]):
            opened.append(set(reasons))
            variation = Variation(trials.claims, opened=frozenset(nodes))
            yield from finder.confirm(NODE, joined(changes, " and "), "; ".join(reasons), None, variation)


def _dropped(finder: Finder, kind: str) -> Iterator[Remedy]:
    claims = finder.trials.claims
    for member in demands(claims):
        if member.kind != kind or member.name in finder.made_for:
            continue
        changed = without(claims, frozenset(((member.claim, kind, member.place),)))
        if not finder.claims_work(changed):
            continue
        text = f"without the constraint {member.text}" if kind == CONSTRAINT else f"without {member.text}"
        short = member.name if kind == REQUEST else ""
        yield from finder.confirm(kind, for_all(text), member.name, None, Variation(changed), short)


def _tolerations(finder: Finder) -> Iterator[Remedy]:
    """A toleration for a taint, and the removal of the taint."""
    trials = finder.trials
    for taint in _taints(finder):
        text = str(taint)
        changed = _all_tolerating(finder, taint)
        if changed != trials.claims and finder.claims_work(changed):
            yield from finder.confirm(
                TOLERATION,
                Words(
                    f"with a toleration for the device taint {text}", "with a toleration for a device taint"
                ),
                text,
                None,
                Variation(changed),
            )
        gone = Variation(trials.claims, without_taint=taint)
        if finder.works(gone):
            rules = trials.snapshot.taint_rules.get(taint, ())
            source = f" (it comes from DeviceTaintRule {', '.join(rules)})" if rules else ""
            removed = Words(
                f"if the device taint {text} were removed{source}", "if a device taint were removed"
            )
            yield from finder.confirm(TAINT, removed, text, None, gone)


def _deleted_patches(finder: Finder, patches: Mapping[str, bool]) -> Iterator[Remedy]:
    for name, is_known in islice(patches.items(), MAX_PATCHES):
        variation = Variation(finder.trials.claims, without_patch=name)
        if finder.works(variation):
            text = f"without {RESOURCE_SLICE_PATCH.name} {name}"
            unnamed = f"if an administrator deleted a {RESOURCE_SLICE_PATCH.name}"
            words = for_all(text) if is_known else Words(text, unnamed)
            yield from finder.confirm(PATCH, words, name, None, variation)


def _taints(finder: Finder) -> list[Taint]:
    demanded = finder.trials.snapshot.demand(finder.trials.claims, finder.trials.time_limit)
    return list(
        dict.fromkeys(
            taint
            for view in finder.views.values()
            for device in view.devices()
            if device.taints
            for claim in demanded
            for request in claim.requests
            for alternative in request.alternatives
            for taint in blocking_taints(device, alternative, view.features)
        )
    )


def _all_tolerating(finder: Finder, taint: Taint) -> Claims:
    claims = finder.trials.claims
    toleration = {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
    for part in finder.written_parts():
        tolerations = (*details_of(claims, part).tolerations, toleration)
        claims = with_details(claims, part, tolerations=tolerations)
    return claims


def _releases(finder: Finder) -> Iterator[Remedy]:
    """The release of allocated claims: single ones, or a minimal set on one node."""
    trials = finder.trials
    found = False
    tried: set[str] = set()
    told: set[frozenset[str]] = set()
    for node in finder.nodes:
        held = trials.held_near(node)
        if not held or not trials.fits_on(node, Variation(trials.claims, frozenset(held))):
            continue
        single = []
        for name in held:
            if name in tried or len(tried) >= MAX_RELEASED:
                continue
            tried.add(name)
            if trials.fits_on(node, Variation(trials.claims, frozenset((name,)))):
                single.append(name)
        yield from _single_releases(finder, single, told)
        found = found or bool(single)
        if not single and not found:
            found = True
            yield from _release(finder, _fewest(trials, node, held))


def _single_releases(
    finder: Finder, names: Sequence[str], told_before: set[frozenset[str]]
) -> Iterator[Remedy]:
    """The releases of claims, each of which is enough; one for all pods that an owner may choose from.

    :param told_before: the claims that end together in releases that other nodes have asked for; gets those of these.
    """
    users = finder.trials.snapshot.claim_users
    told: set[Owner] = set()
    for name in sorted(names, key=lambda each: len(ended_with((each,), users))):
        owners = {owner for owner, _ in users[name].owned}
        if owners & told:
            continue
        told |= owners
        if (ending := frozenset(ended_with((name,), users))) in told_before:
            continue
        told_before.add(ending)
        all_of_owner = [each for each, user in users.items() if owners & {owner for owner, _ in user.owned}]
        yield from _release(finder, (name,), any_pod=set(all_of_owner) <= set(names))


def _release(finder: Finder, names: Sequence[str], any_pod: bool = False) -> Iterator[Remedy]:
    users = finder.trials.snapshot.claim_users
    names = ended_with(names, users)
    if any(name in finder.trials.own or name in finder.trials.spared for name in names):
        return
    variation = Variation(finder.trials.claims, frozenset(names))
    holders = [users[name] for name in names]
    short = holders[0].text if len(holders) == 1 and not any(holders[0].owners) else ""
    words = _released(holders, {each.namespace for each in finder.trials.claims}, any_pod)
    yield from finder.confirm(RELEASE, words, ", ".join(names), None, variation, short)


def _released(holders: Sequence[Holder], namespaces: Collection[str], any_pod: bool) -> Words:
    """That claims are released, of which tenants are told by name what is in their own namespaces, and how many others."""
    text = f"if {released(holders, any_pod=any_pod)}"
    own = [each for each in holders if each.claim.partition("/")[0] in namespaces]
    others = len(holders) - len(own)
    if not others:
        return for_all(text)
    whose = "another namespace" if others == 1 else "other namespaces"
    counted = f"{number(others, 'claim')} of {whose} were released"
    parts = [released(own), counted] if own else [counted]
    return Words(text, f"if {', and if '.join(parts)}")


def _fewest(trials: Trials, node: str, held: Sequence[str]) -> list[str]:
    """A minimal set of claims whose release makes the pod fit."""
    needed = list(held)
    size = max(len(needed) // 2, 1)
    while True:
        for start in range(0, len(needed), size):
            fewer = needed[:start] + needed[start + size :]
            if fewer and trials.fits_on(node, Variation(trials.claims, frozenset(fewer))):
                needed = fewer
                break
        else:
            if size == 1:
                return needed
            size = max(size // 2, 1)


def _gates(finder: Finder, gates: Mapping[str, frozenset[str]]) -> Iterator[Remedy]:
    """Feature gates that are off but can be turned on, with those that they depend on."""
    features = finder.trials.snapshot.features
    for gate in sorted(gates.keys() & GATES):
        needed = gates[gate]
        more = Features(features.gates | needed, features.minor, group_snapshots=features.group_snapshots)
        variation = Variation(finder.trials.claims, features=more)
        if finder.works(variation):
            yield from finder.confirm(GATE, for_all(_with_gates(needed)), gate, None, variation)


def gate_remedy(gate: str, needed: frozenset[str], nodes: tuple[str, ...], variation: Variation) -> Remedy:
    """That of turning on a gate with those that it depends on, if the pod has been found to fit then."""
    return Remedy(GATE, for_all(_with_gates(needed)), gate, None, nodes, variation)


def _with_gates(needed: frozenset[str]) -> str:
    noun = "feature gates" if len(needed) > 1 else "feature gate"
    return f"with the {noun} {', '.join(sorted(needed))} on in kube-apiserver and kube-scheduler"
