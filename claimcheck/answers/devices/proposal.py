"""ResourceSlicePatches and DeviceTaintRules before they are applied, and a cluster with them and without."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from allocator.scheduling import SchedulingState
from claimcheck.answers.cluster_state import ClusterState
from claimcheck.answers.reading import readable
from resourceapi.decoding import DecodingError
from resourceapi.errors import Unanswerable
from resourceapi.kinds import DEVICE_TAINT_RULE, RESOURCE_SLICE_PATCH, kind_of
from resourceapi.manifests import mapping, name_of
from resourceapi.objects import Object
from resourceapi.records.taints import DeviceTaintRule, read_taint_rule, without_time
from validation.requests import create_request

if TYPE_CHECKING:
    from advice.findings import Result
    from claimcheck.answers.outcome import Failure
    from documents.manifest import Manifest

_LAST = "9999-12-31T23:59:59Z"


class Proposal:
    """Objects that are not in the cluster yet, or would replace those of the same names, and patches that would be deleted.

    ``patches``: ResourceSlicePatches by name.  ``rules``: DeviceTaintRules by name.
    """

    def __init__(
        self,
        state: ClusterState,
        found: Iterable[Manifest | Result | Failure],
        without: Collection[str] = (),
    ) -> None:
        """Read the objects as the API server would.

        :param without: the names of patches of the cluster that would be deleted.
        :raises Unanswerable: for what cannot be read, objects that are refused, and other kinds.
        """
        self._features = state.features
        self._stored, self._stored_rules = state.of(RESOURCE_SLICE_PATCH.name), state.taint_rules
        self.patches: dict[str, Object] = {}
        self.rules: dict[str, DeviceTaintRule] = {}
        failures: list[Failure] = []
        for manifest in readable(found, failures):
            obj = _accepted(state, manifest)
            if manifest.value["kind"] == DEVICE_TAINT_RULE.name:
                rule = read_taint_rule(obj)
                added_now = "timeAdded" not in mapping(manifest.value, "spec", "taint")
                self.rules[rule.name] = without_time(rule) if added_now else rule
            else:
                self.patches[name_of(obj)] = _aged(obj, self._stored)
        if failures:
            raise Unanswerable(f"{failures[0].file}: {failures[0].message}")
        self._without = without

    @property
    def names(self) -> list[str]:
        """The objects as kind and name."""
        patches = [f"{RESOURCE_SLICE_PATCH.name} {name}" for name in self.patches]
        return patches + [f"{DEVICE_TAINT_RULE.name} {name}" for name in self.rules]

    def apply(self, cluster: SchedulingState) -> None:
        """Put the objects into the cluster, and delete patches."""
        for name, patch in self._stored.items():
            if not _created(patch) and name not in self.patches:
                # whoever is in the cluster is older than what comes now
                cluster.put_patch(_with_creation(patch, _LAST))
        for name in self._without:
            cluster.remove_patch(name)
        for patch in self.patches.values():
            cluster.put_patch(patch)
        for rule in self.rules.values() if self._features.device_taints else ():
            cluster.put_rule(rule)

    def undo(self, cluster: SchedulingState) -> None:
        """Put back what was there before."""
        stored, rules = self._stored, self._stored_rules
        for name in (*self.patches, *self._without):
            if name in stored:
                cluster.put_patch(stored[name])
            else:
                cluster.remove_patch(name)
        for name in self.rules if self._features.device_taints else ():
            if name in rules:
                cluster.put_rule(rules[name])
            else:
                cluster.remove_rule(name)


def _accepted(state: ClusterState, manifest: Manifest) -> Object:
    """An object in normal form, as the API server would store it."""
    place = f"{manifest.file}:{manifest.line}" if manifest.line else manifest.file
    kind = kind_of(manifest.value.get("apiVersion"), manifest.value.get("kind"))
    if kind not in (RESOURCE_SLICE_PATCH, DEVICE_TAINT_RULE):
        found = manifest.value.get("kind") or "no kind"
        raise Unanswerable(
            f"{place}: expected a {RESOURCE_SLICE_PATCH.name} or {DEVICE_TAINT_RULE.name}, found {found}"
        )
    answer = state.server.handle(create_request(manifest.value, ""))
    if not answer.accepted or answer.object is None:
        raise Unanswerable(
            f"{place}: {answer.message}", f"claimcheck validate {manifest.file} tells how to fix it"
        )
    try:
        return state.normal_form(answer.object)
    except DecodingError as error:
        raise Unanswerable(f"{place}: {error.text}") from None


def _aged(patch: Object, stored: dict[str, Object]) -> Object:
    """The patch with the age of the one that it replaces; a new one is younger than all others."""
    before = stored.get(name_of(patch))
    if before is None:
        return _with_creation(patch, "")
    return _with_creation(patch, _created(before) or _LAST)


def _created(patch: Object) -> str:
    return str((patch.get("metadata") or {}).get("creationTimestamp") or "")


def _with_creation(patch: Object, when: str) -> Object:
    return {**patch, "metadata": {**(patch.get("metadata") or {}), "creationTimestamp": when}}
