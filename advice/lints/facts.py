"""The objects of the given files and of the inventory, for lints that compare an object with others."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from advice.lints.named_objects import NamedObjects, Renaming
from advice.lints.pools import Pools
from resourceapi.kinds import (
    CLAIM,
    CLAIM_TEMPLATE,
    DEVICE_CLASS,
    RESOURCE_SLICE,
    RESOURCE_SLICE_PATCH,
    kind_in,
)
from resourceapi.manifests import devices_of, mapping, name_of, namespace_of, request_names, text
from resourceapi.model.versions import GROUP
from resourceapi.records.pools import DeviceId, SliceRecord
from resourceapi.releases import Profile, split_api_version

if TYPE_CHECKING:
    from advice.lints.candidates import Evaluations
    from advice.lints.expressions import Expression
    from advice.lints.patched_devices import PatchedDevices
    from deviceselectors.environment import Environment


#: What classic DRA has in place of a DeviceClass.
CLASSIC_CLASS = "ResourceClass"
#: The kinds whose objects lints look up.
REFERRED = frozenset(
    kind.name for kind in (DEVICE_CLASS, CLAIM, CLAIM_TEMPLATE, RESOURCE_SLICE, RESOURCE_SLICE_PATCH)
)
Learnt = tuple[
    NamedObjects,
    NamedObjects,
    NamedObjects,
    Renaming,
    dict[str, list[str]],
    Pools,
    list[dict[str, Any]],
    list[dict[str, Any]],
]
"""Of facts: claims, templates, classes, what is renamed, the selectors of classes, pools, slices, patches."""


class Facts:
    """The objects that lints can refer to.

    Objects count in versions that the release does not serve, and with mistakes: they are there, whatever else is wrong.

    ``complete``: the kinds of which all objects of the cluster are among these, as with an inventory. Of other kinds
    there may be more elsewhere: DeviceClasses come with a driver, claims may be in the files of others, and
    ResourceSlices in files are examples.
    ``complete_in``: of other kinds, the namespaces of which all objects are among these.
    ``is_live``: whether what is not known here was looked for in a live cluster.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        default_namespace: str = "default",
        complete: Collection[str] = (),
        is_live: bool = False,
    ) -> None:
        self.profile = profile
        self.default_namespace = default_namespace
        self.complete = frozenset(complete)
        self.complete_in: dict[str, set[str]] = {}
        self.is_live = is_live
        self.renaming = Renaming()
        self.classes = NamedObjects()
        self.templates = NamedObjects()
        self.claims = NamedObjects()
        self.pools = Pools()
        self.slices: list[dict[str, Any]] = []
        self.patches: list[dict[str, Any]] = []
        self.class_selectors: dict[str, list[str]] = {}
        # caches of advice.lints.selectors
        self.environment: Environment | None = None
        self.selectors: dict[str, Expression | None] = {}
        self.selectors_length = 0  # of their texts together
        self.evaluations: Evaluations | None = None
        self._drawing: frozenset[DeviceId] | None = None
        self.patched_devices: PatchedDevices | None = None  # of advice.lints.patches
        self.hidden_notes: dict[str, int] = {}  # of each code, counted by lints that were not asked for notes

    def count_hidden_note(self, code: str) -> None:
        """Count a note that nobody has asked for."""
        self.hidden_notes[code] = self.hidden_notes.get(code, 0) + 1

    def namespace_of(self, manifest: Any) -> str:
        """The namespace of an object; the default namespace if it names none."""
        return namespace_of(manifest, self.default_namespace)

    def knows_all(self, kind: str, namespace: str) -> bool:
        """Whether all objects of a kind in a namespace are among these."""
        return kind in self.complete or namespace in self.complete_in.get(kind, ())

    def learn(self, manifest: dict[str, Any], file: str = "") -> None:
        """Note an object; those of no interest are ignored."""
        group, version = split_api_version(text(manifest, "apiVersion"))
        kind = text(manifest, "kind")
        if kind_in(group, kind) is RESOURCE_SLICE_PATCH:
            self.patches.append(manifest)
        elif group != GROUP:
            self._learn_other(manifest, group, file)
        elif kind == CLAIM.name:
            self._learn_claim(self.claims, manifest, file)
        elif kind == CLAIM_TEMPLATE.name:
            self._learn_claim(self.templates, manifest, file)
        elif self.profile.is_classic and kind == CLASSIC_CLASS:
            self.classes.add("", name_of(manifest), file)
            self.renaming.learn_release(manifest)
        elif self.profile.is_classic:
            return
        elif kind == DEVICE_CLASS.name:
            self.classes.add("", name_of(manifest), file)
            self.renaming.learn_release(manifest)
            if RESOURCE_SLICE.name in self.complete:
                from resourceapi.records.classes import read_device_class

                self.class_selectors[name_of(manifest)] = list(read_device_class(manifest).expressions)
        elif kind == RESOURCE_SLICE.name:
            self.pools.learn(manifest, file)
            if RESOURCE_SLICE.name in self.complete and RESOURCE_SLICE.served(version, self.profile.minor):
                self.slices.append(manifest)

    def _learn_claim(self, known: NamedObjects, manifest: dict[str, Any], file: str) -> None:
        known.add(self.namespace_of(manifest), name_of(manifest), file, request_names(manifest))
        self.renaming.learn_release(manifest)

    def _learn_other(self, manifest: dict[str, Any], group: str, file: str) -> None:
        """Custom resources for which a controller makes templates, such as ComputeDomain, and Kustomizations."""
        if "." in group and not group.endswith(".k8s.io"):
            for name in _templates_made_for(mapping(manifest, "spec")):
                self.templates.add(self.namespace_of(manifest), name, file)
        if "namePrefix" in manifest or "nameSuffix" in manifest or "namespace" in manifest:
            self.renaming.learn_kustomization(manifest, file)

    def learnt(self) -> Learnt:
        """What has been learnt, as plain data and objects that can be pickled."""
        return (
            self.claims,
            self.templates,
            self.classes,
            self.renaming,
            self.class_selectors,
            self.pools,
            self.slices,
            self.patches,
        )

    def add(self, learnt: Learnt) -> None:
        """Note what other facts have learnt from objects that come after those that these have learnt from."""
        claims, templates, classes, renaming, class_selectors, pools, slices, patches = learnt
        self.claims.update(claims)
        self.templates.update(templates)
        self.classes.update(classes)
        self.renaming.update(renaming)
        self.class_selectors.update(class_selectors)
        self.pools.update(pools)
        self.slices += slices
        self.patches += patches

    @property
    def drawing_devices(self) -> frozenset[DeviceId]:
        """The devices of known slices that draw from counters."""
        if self._drawing is None:
            found: set[DeviceId] = set()
            for slice in self.slices:
                id = SliceRecord(slice).pool
                found.update(
                    DeviceId(*id, text(device, "name"))
                    for _, device in devices_of(slice)
                    if device.get("consumesCounters")
                )
            self._drawing = frozenset(found)
        return self._drawing

    @property
    def knows_devices(self) -> bool:
        """Whether what the devices of the cluster are like is known: slices, and what patches make of them."""
        return bool(self.slices) and {RESOURCE_SLICE.name, RESOURCE_SLICE_PATCH.name} <= self.complete


def _templates_made_for(spec: dict[str, Any]) -> list[str]:
    """The names in ``resourceClaimTemplate: {name: …}``, with which custom resources have a template made."""
    names: list[str] = []
    pending: list[Any] = [spec]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            names.append(text(value.get("resourceClaimTemplate"), "name"))
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
    return [name for name in names if name]
