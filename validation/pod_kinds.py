"""The rules that pods and the kinds that hold a pod template have in common."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING

from resourceapi.decoding import decode
from resourceapi.encoding import encode
from resourceapi.field_errors import FieldError, Key, Path, TooManyErrors, render
from resourceapi.kind import Kind, Lifecycle
from resourceapi.measured import CLASSIC_MINOR
from resourceapi.model import workloads
from resourceapi.objects import Object
from resourceapi.releases import Profile
from resourceapi.schema import Schema
from validation import formats
from validation.checks import Checks
from validation.kind_rules import KindRules
from validation.merging import merge
from validation.object_meta import (
    check_common_metadata,
    check_common_metadata_update,
    check_metadata,
    check_metadata_update,
)
from validation.requests import STATUS, Request
from validation.wording import in_words_of

if TYPE_CHECKING:
    from validation.setting import Setting

NAME_WARNING = (
    "metadata.name: this is used in {use}, which can result in surprising behavior; "
    "a DNS label is recommended: [{details}]"
)
DEPRECATED_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}


class PodKindRules(KindRules):
    """The rules of a kind that is, or holds, the spec of a pod.

    :param name_use: what the name of an object is used in, where a DNS label would do better.
    :param name_is_label: whether the name must be a DNS label, not only a subdomain.
    :param name_origin: the origin of the declarative rule that reports a bad name as well, if there is one.
    """

    def __init__(
        self, group: str, name: str, *, name_use: str = "", name_is_label: bool = False, name_origin: str = ""
    ) -> None:
        resource = workloads.RESOURCES[name]
        self.kind = Kind(name, resource, namespaced=True, versions={"v1": Lifecycle(0)})
        self.group = group
        self._name_use = name_use
        self._name_is_label = name_is_label
        self._name_origin = name_origin

    @abstractmethod
    def default(self, obj: Object) -> None:
        """Fill in the defaults."""

    @abstractmethod
    def prepare_spec(self, obj: Object, old: Object | None, setting: Setting) -> None:
        """Drop what is switched off, in any request but one about the status."""

    @abstractmethod
    def check(self, obj: Object, old: Object | None, checks: Checks) -> None:
        """All but the metadata, in any request but one about the status."""

    @abstractmethod
    def check_update(self, obj: Object, old: Object, checks: Checks) -> None:
        """A changed object, its metadata included; what is common to all kinds has been checked."""

    def check_new(self, obj: Object, checks: Checks) -> None:
        """A new object, its metadata included."""
        self.check_own_metadata(obj, checks)
        self.check(obj, None, checks)

    def check_own_metadata(self, obj: Object, checks: Checks) -> None:
        """The metadata of a new object."""
        check_metadata(
            obj, checks, namespaced=True, is_label=self._name_is_label, name_origin=self._name_origin
        )

    def check_status(self, obj: Object, old: Object, checks: Checks) -> None:
        """A changed status: the metadata is checked again, of the status nothing."""
        check_metadata_update(obj, old, checks)

    def has_status(self, profile: Profile) -> bool:
        """Whether the server has a URL for the status."""
        return "status" in workloads.schema()[self.kind.name].by_name

    def read(self, obj: Object, version: str, setting: Setting) -> Object:
        """The object with its defaults."""
        self.default(obj)
        return obj

    def read_stored(self, stored: Object, version: str, setting: Setting) -> Object:
        """The stored object with its defaults: those that a client leaves out need not be written to a file."""
        return self.read(decode(_schema(setting), self.kind.name, stored).object, version, setting)

    def prepare(self, verb: str, obj: Object, old: Object | None, setting: Setting) -> None:
        """An update of the status changes nothing else."""
        if verb == STATUS and old is not None:
            obj["spec"] = old.get("spec", {})
        else:
            self.prepare_spec(obj, old, setting)

    def errors(
        self, request: Request, version: str, obj: Object, old: Object | None, setting: Setting
    ) -> list[FieldError]:
        """Those of the metadata, then those of the rest."""
        checks = setting.checks()
        with suppress(TooManyErrors):
            self._check(request.verb, obj, old, checks)
        if setting.profile.is_classic:
            return in_words_of(CLASSIC_MINOR, checks.errors)
        # Of the declarative rules for these kinds, only that for the name above tells in the order of errors.
        declarative = [error for error in checks.errors if error.covered and setting.profile.declarative]
        by_hand = [error for error in checks.errors if error not in declarative]
        errors = merge(by_hand, declarative, lambda path: path, minor=setting.profile.minor)
        return in_words_of(setting.profile.minor, errors)

    def _check(self, verb: str, obj: Object, old: Object | None, checks: Checks) -> None:
        if old is None:
            self.check_new(obj, checks)
            return
        check_common_metadata(obj, checks, namespaced=True)
        check_common_metadata_update(obj, old, checks)
        if verb == STATUS:
            self.check_status(obj, old, checks)
        else:
            self.check_update(obj, old, checks)

    def name_warnings(self, obj: Object) -> list[str]:
        """What the server warns about in the name of a new object."""
        problems = formats.dns_label(obj["metadata"].get("name", "")) if self._name_use else []
        details = " ".join(problem.detail for problem in problems)
        return [NAME_WARNING.format(use=self._name_use, details=details)] if problems else []

    def present(self, obj: Object, api_version: str, setting: Setting) -> Object:
        """The object as JSON."""
        encoded = encode(_schema(setting), self.kind.name, obj)
        return {"kind": self.kind.name, "apiVersion": api_version, **encoded}


def _schema(setting: Setting) -> Schema:
    return workloads.schema(setting.profile.minor)


def spec_warnings(spec: Object, path: Path) -> list[str]:
    """What the server warns about in the spec of a pod: old labels of nodes, fractions of bytes."""
    warnings = [
        f"{render((*path, 'nodeSelector', Key(label)))}: {DEPRECATED_LABELS[label]}"
        for label in spec.get("nodeSelector") or {}
        if label in DEPRECATED_LABELS
    ]
    for name in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(name) or []):
            warnings += _fraction_warnings(container, (*path, name, index))
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        at = render((*path, "terminationGracePeriodSeconds"))
        warnings.append(f"{at}: must be >= 0; negative values are invalid and will be treated as 1")
    return warnings


def _fraction_warnings(container: Object, path: Path) -> list[str]:
    resources = container.get("resources", {})
    warnings = []
    for resource in ("memory", "ephemeral-storage"):
        for kind in ("limits", "requests"):
            amount = (resources.get(kind) or {}).get(resource)
            if amount is not None and amount.milli_value() % 1000:
                at = render((*path, "resources", kind, Key(resource)))
                warnings.append(f'{at}: fractional byte value "{amount}" is invalid, must be an integer')
    return warnings
