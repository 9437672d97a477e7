"""The objects of the given files and of the inventory, for lints that compare an object with others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from resourceapi.kinds import KINDS
from resourceapi.manifests import entries, mapping, name_of, request_names, text
from resourceapi.model.versions import GROUP
from resourceapi.releases import Profile, split_api_version

if TYPE_CHECKING:
    from advice.lints.candidates import Evaluations
    from advice.lints.expressions import Expression
    from deviceselectors.environment import Environment

Named = tuple[str, str]  # namespace and name


class Pool:
    """One generation of a driver's pool as its slices describe it: how many they should be and are, and counters."""

    __slots__ = ("counters", "expected", "slices")

    def __init__(self) -> None:
        self.expected = 0
        self.slices = 0
        self.counters: dict[str, set[str]] = {}  # of each counter set

    @property
    def complete(self) -> bool:
        """Whether all slices of the pool generation are there."""
        return self.slices >= self.expected > 0


Learnt = tuple[
    dict[Named, frozenset[str]],
    dict[Named, frozenset[str]],
    set[str],
    bool,
    dict[str, list[str]],
    dict[tuple[str, str, int], Pool],
    list[dict[str, Any]],
]
"""Of facts: claims, templates, classes and whether they are known, their selectors, pools, slices."""


class Facts:
    """The objects that lints can refer to.

    ``classes_known``: whether DeviceClasses are expected to be among the objects; people often have their claims in
    one place and the classes, which come with a driver, in another.  ``devices_known``: whether the ResourceSlices
    among the objects are all that there are, as in an inventory, rather than examples.
    """

    __slots__ = (
        "claims",
        "class_selectors",
        "classes",
        "classes_known",
        "default_namespace",
        "devices_known",
        "environment",
        "evaluations",
        "hidden_notes",
        "pools",
        "profile",
        "selectors",
        "selectors_length",
        "slices",
        "templates",
    )

    def __init__(
        self,
        profile: Profile,
        *,
        default_namespace: str = "default",
        classes_known: bool = False,
        devices_known: bool = False,
    ) -> None:
        self.profile = profile
        self.default_namespace = default_namespace
        self.classes_known = classes_known
        self.classes: set[str] = set()
        self.templates: dict[Named, frozenset[str]] = {}  # names of their requests
        self.claims: dict[Named, frozenset[str]] = {}
        self.pools: dict[tuple[str, str, int], Pool] = {}
        self.devices_known = devices_known
        self.slices: list[dict[str, Any]] = []
        self.class_selectors: dict[str, list[str]] = {}
        # caches of advice.lints.selectors
        self.environment: Environment | None = None
        self.selectors: dict[str, Expression | None] = {}
        self.selectors_length = 0  # of their texts together
        self.evaluations: Evaluations | None = None
        self.hidden_notes = 0  # counted by lints that were not asked for notes

    def namespace_of(self, manifest: Any) -> str:
        """The namespace of an object; the default namespace if it names none."""
        return text(mapping(manifest, "metadata"), "namespace") or self.default_namespace

    def learn(self, manifest: dict[str, Any]) -> None:
        """Note an object of the DRA group that the release serves; others are of no interest."""
        group, version = split_api_version(text(manifest, "apiVersion"))
        kind = text(manifest, "kind")
        if group != GROUP or kind not in KINDS or not KINDS[kind].served(version, self.profile.minor):
            return
        if kind == "ResourceClaim":
            self.claims[self.namespace_of(manifest), name_of(manifest)] = request_names(manifest)
        elif kind == "ResourceClaimTemplate":
            self.templates[self.namespace_of(manifest), name_of(manifest)] = request_names(manifest)
        elif kind == "DeviceClass" and name_of(manifest):
            self.classes.add(name_of(manifest))
            self.classes_known = True
            if self.devices_known:
                self.class_selectors[name_of(manifest)] = [
                    text(mapping(selector, "cel"), "expression")
                    for selector in entries(mapping(manifest, "spec"), "selectors")
                ]
        elif kind == "ResourceSlice":
            self._learn_slice(manifest)
            if self.devices_known:
                self.slices.append(manifest)

    def learnt(self) -> Learnt:
        """What has been learnt, as plain data and pools."""
        return (
            self.claims,
            self.templates,
            self.classes,
            self.classes_known,
            self.class_selectors,
            self.pools,
            self.slices,
        )

    def add(self, learnt: Learnt) -> None:
        """Note what other facts have learnt from objects that come after those that these have learnt from."""
        claims, templates, classes, classes_known, class_selectors, pools, slices = learnt
        self.claims.update(claims)
        self.templates.update(templates)
        self.classes |= classes
        self.classes_known |= classes_known
        self.class_selectors.update(class_selectors)
        self.slices += slices
        for key, later in pools.items():
            pool = self.pools.setdefault(key, Pool())
            pool.expected = later.expected
            pool.slices += later.slices
            for name, counters in later.counters.items():
                pool.counters.setdefault(name, set()).update(counters)

    def _learn_slice(self, manifest: dict[str, Any]) -> None:
        key = pool_key(manifest)
        if key is None:
            return
        pool = self.pools.setdefault(key, Pool())
        spec = mapping(manifest, "spec")
        expected = mapping(spec, "pool").get("resourceSliceCount")
        pool.expected = expected if isinstance(expected, int) else 0
        pool.slices += 1
        for counter_set in entries(spec, "sharedCounters"):
            counters = mapping(counter_set, "counters")
            pool.counters.setdefault(text(counter_set, "name"), set()).update(counters)


def pool_key(manifest: Any) -> tuple[str, str, int] | None:
    """Driver, pool and generation of a slice."""
    spec = mapping(manifest, "spec")
    pool = mapping(spec, "pool")
    generation = pool.get("generation", 0)
    if not text(spec, "driver") or not text(pool, "name") or not isinstance(generation, int):
        return None
    return text(spec, "driver"), text(pool, "name"), generation
