"""The ResourceSlicePatches and DeviceTaintRules of ``--diff``, and a cluster with them and without."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from allocator.scheduling import SchedulingState
from commandline.cluster_state import ClusterState
from commandline.errors import UsageError
from commandline.reading import read_named, readable
from resourceapi.decoding import DecodingError
from resourceapi.kinds import DEVICE_TAINT_RULE, RESOURCE_SLICE_PATCH, kind_of
from resourceapi.manifests import name_of
from resourceapi.nearness import nearest
from resourceapi.objects import Object
from validation.requests import create_request

if TYPE_CHECKING:
    from commandline.results import Failure
    from documents.manifest import Manifest

_LAST = "9999-12-31T23:59:59Z"


class Proposal:
    """Objects that are not in the cluster yet, or would replace those of the same names, and patches that would be deleted.

    ``patches``: ResourceSlicePatches by name.  ``rules``: DeviceTaintRules by name.
    """

    def __init__(self, state: ClusterState, paths: list[str], without: Collection[str] = ()) -> None:
        """Read the files as the API server would.

        :param without: the names of patches that would be deleted.
        :raises UsageError: for files that cannot be read, for objects that are refused, or of other kinds, and if there
            is no patch of these names.
        """
        self._features = state.features
        self._stored = {kind.name: state.of(kind.name) for kind in (RESOURCE_SLICE_PATCH, DEVICE_TAINT_RULE)}
        self.patches: dict[str, Object] = {}
        self.rules: dict[str, Object] = {}
        failures: list[Failure] = []
        for manifest in readable(read_named("--diff", paths) if paths else (), failures):
            obj = _accepted(state, manifest)
            if manifest.value["kind"] == DEVICE_TAINT_RULE.name:
                self.rules[name_of(obj)] = obj
            else:
                self.patches[name_of(obj)] = _aged(obj, self._stored[RESOURCE_SLICE_PATCH.name])
        if failures:
            raise UsageError(f"{failures[0].file}: {failures[0].message}")
        self._without = _deleted(without, self._stored[RESOURCE_SLICE_PATCH.name], self.patches)
        if paths and not self.patches and not self.rules:
            raise UsageError(
                f"--diff {' '.join(paths)}: neither a {RESOURCE_SLICE_PATCH.name} nor a {DEVICE_TAINT_RULE.name}"
            )

    @property
    def names(self) -> list[str]:
        """The objects as kind and name."""
        patches = [f"{RESOURCE_SLICE_PATCH.name} {name}" for name in self.patches]
        return patches + [f"{DEVICE_TAINT_RULE.name} {name}" for name in self.rules]

    def apply(self, cluster: SchedulingState) -> None:
        """Put the objects into the cluster, and delete patches."""
        for name, patch in self._stored[RESOURCE_SLICE_PATCH.name].items():
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
        stored = self._stored[RESOURCE_SLICE_PATCH.name]
        for name in (*self.patches, *self._without):
            if name in stored:
                cluster.put_patch(stored[name])
            else:
                cluster.remove_patch(name)
        rules = self._stored[DEVICE_TAINT_RULE.name]
        for name in self.rules if self._features.device_taints else ():
            if name in rules:
                cluster.put_rule(rules[name])
            else:
                cluster.remove_rule(name)


def _deleted(
    names: Collection[str], stored: dict[str, Object], patches: dict[str, Object]
) -> Collection[str]:
    """The names of patches to delete, which the cluster has to have, and files must not."""
    for name in names:
        if name not in stored:
            meant = nearest(name, stored)
            hint = f"did you mean {meant}?" if meant else ""
            raise UsageError(f"--without {name}: there is no such {RESOURCE_SLICE_PATCH.name}", hint)
        if name in patches:
            raise UsageError(f"--without {name}: the files have that {RESOURCE_SLICE_PATCH.name}")
    return names


def _accepted(state: ClusterState, manifest: Manifest) -> Object:
    """An object in normal form, as the API server would store it."""
    place = f"{manifest.file}:{manifest.line}" if manifest.line else manifest.file
    kind = kind_of(manifest.value.get("apiVersion"), manifest.value.get("kind"))
    if kind not in (RESOURCE_SLICE_PATCH, DEVICE_TAINT_RULE):
        found = manifest.value.get("kind") or "no kind"
        raise UsageError(
            f"{place}: expected a {RESOURCE_SLICE_PATCH.name} or {DEVICE_TAINT_RULE.name}, found {found}"
        )
    answer = state.server.handle(create_request(manifest.value, ""))
    if not answer.accepted or answer.object is None:
        raise UsageError(
            f"{place}: {answer.message}", f"claimcheck validate {manifest.file} tells how to fix it"
        )
    try:
        return state.normal_form(answer.object)
    except DecodingError as error:
        raise UsageError(f"{place}: {error.text}") from None


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
