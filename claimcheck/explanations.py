"""Why a pod gets its devices or not, and what would help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from allocator.time_limit import TimeLimit
from claimcheck.answers.explain import Explained, explain_all
from claimcheck.answers.scenario import SECONDS_IN_ALL
from claimcheck.inputs import Objects, values_in
from claimcheck.placements import AllocatedDevice, devices_of
from resourceapi.errors import Unanswerable

if TYPE_CHECKING:
    from claimcheck.clusters import Cluster


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change with which the pod fits; it has been tried.

    - ``kind``: what changes, such as ``selector``, ``count``, ``toleration``, ``release``.
    - ``subject``: the name of the request, claim, taint, patch or gate that changes.
    - ``text``: completes the sentence "it would fit …".
    - ``nodes``: where the pod would fit then.
    """

    kind: str
    subject: str
    text: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Whether a pod or claim gets devices, where, and if not, why.

    - ``object``: ``Pod default/train``.
    - ``verdict``: ``fits``, ``does not fit``, ``error`` (an error on a node ends each attempt), ``left to chance`` (ends some),
      ``waits`` (for claims, templates or binding conditions), ``binding failed``, ``bypasses the scheduler``, ``undecided`` (no time
      to find out).
    - ``node``, ``devices``: where it is or would be placed first, and what its claims get there.
    - ``nodes``: all nodes on which it fits.
    - ``reason``: why it does not fit, in kube-scheduler's words where it has some; empty if it does.
    - ``rejected``: nodes that are excluded before their devices count, with the reasons.
    - ``remedies``: what would make it fit.
    - ``complete``: false if there was no time to look for all remedies.
    - ``notes``: what was checked and what was not, in sentences.
    """

    object: str
    verdict: str
    reason: str = ""
    node: str = ""
    nodes: tuple[str, ...] = ()
    devices: tuple[AllocatedDevice, ...] = ()
    rejected: tuple[tuple[str, str], ...] = ()
    remedies: tuple[Remedy, ...] = ()
    complete: bool = True
    notes: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether it gets its devices."""
        return self.verdict == "fits"


def explain(
    pod: Objects, cluster: Cluster, *, node: str = "", timeout: float = SECONDS_IN_ALL
) -> Explanation:
    """Whether a pod would get its devices in a cluster, and if not, why and what would help.

    :param pod: a pod, workload, claim or template, and what it refers to; claims and templates may be in the cluster as well.
    :param node: the only node to consider; empty: all.
    :param timeout: in seconds; a pod takes 20 s at most.
    :raises ClaimcheckError: if objects cannot be read or are refused, nothing requests devices, or several pods do.
    """
    with cluster.lock:
        scenario = cluster.scenario(list(values_in(pod, cluster.profile)))
        if len(scenario.workloads) > 1:
            titles = ", ".join(each.title for each in scenario.workloads[:3])
            raise Unanswerable(
                f"{len(scenario.workloads)} objects request devices, one is explained at a time: {titles}"
            )
        if node and node not in scenario.snapshot.nodes:
            raise Unanswerable(f"there is no node {node}")
        answer = explain_all(scenario, node, TimeLimit(timeout))
    (explained,) = answer.explained
    if explained.workload.problem:
        raise Unanswerable(f"{explained.workload.title}: {explained.workload.problem}")
    return _explanation(explained, tuple(answer.notes))


def _explanation(explained: Explained, notes: tuple[str, ...]) -> Explanation:
    title, found = explained.workload.title, explained.explanation
    if found is None or explained.users is not None:
        allocations = dict(explained.allocated)
        return Explanation(
            title,
            explained.verdict,
            reason=explained.bypassed or (f"waits for {missing}" if (missing := explained.waits_for) else ""),
            node=explained.bound,
            nodes=(explained.bound,) if explained.bound else tuple(explained.allocated_on),
            devices=devices_of(allocations),
            notes=notes,
        )
    placed = found.placed
    results = zip(found.demand, (placed.result or ()) if placed is not None else (), strict=False)
    return Explanation(
        title,
        explained.verdict,
        reason=_reason(explained),
        node="" if placed is None else placed.node,
        nodes=tuple(each for each in found.fitting),
        devices=devices_of(dict(explained.allocated) | {claim.name: result for claim, result in results}),
        rejected=tuple(
            (node, "; ".join(each.named for each in why)) for node, why in explained.rejected.items()
        ),
        remedies=tuple(Remedy(each.kind, each.subject, each.text, each.nodes) for each in found.remedies),
        complete=found.complete,
        notes=(
            *notes,
            *explained.resource_notes,
            *filter(None, [explained.evicting_note]),
        ),
    )


def _reason(explained: Explained) -> str:
    found = explained.explanation
    assert found is not None
    if explained.workload.waits_for:
        return f"waits for {explained.waits_for}"
    if explained.open_conditions:
        return "; ".join(each.text for each in explained.open_conditions)
    if explained.fits:
        return ""
    if found.error is not None:
        return f"error on {found.error.node}: {found.error.error}"
    return explained.unavailable or found.refusal or explained.verdict
