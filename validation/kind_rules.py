"""What a review asks of a kind, and what the kinds of ``resource.k8s.io`` have in common; errors in the words of earlier releases."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from conversion.hub import from_hub, hub_object, normalized, path_to_hub, path_to_version
from resourceapi import field_errors as errors
from resourceapi.field_errors import (
    TOO_LONG,
    TYPE_INVALID,
    ErrorList,
    FieldError,
    Named,
    Path,
    ResourceName,
    TooManyErrors,
    Verbatim,
)
from resourceapi.gating import without_disabled
from resourceapi.kind import Kind
from resourceapi.measured import NEWEST
from resourceapi.model.versions import GROUP, V1
from resourceapi.objects import EMPTY, Object
from resourceapi.releases import Profile
from validation.checks import Checks
from validation.object_meta import (
    check_common_metadata,
    check_common_metadata_update,
    check_metadata,
    check_metadata_update,
    check_names_in_url,
)
from validation.requests import CREATE, STATUS, Answer, Request

if TYPE_CHECKING:
    from validation.setting import Setting


_IDENTIFIER = "a valid C identifier"


def in_words_of(minor: int, errors: list[FieldError]) -> list[FieldError]:
    """The same errors, reworded in place as release 1.``minor`` has them."""
    for error in errors if minor < 35 else ():
        if error.kind != TOO_LONG:
            detail = re.sub(
                r"\bmust be no more than (\d+) bytes\b", r"must be no more than \1 characters", error.detail
            )
            error.detail = detail.replace("a valid label key must", "a qualified name must")
            if minor < 34:
                error.value = _shown(error.value)
                if error.detail.startswith(_IDENTIFIER):
                    error.kind = TYPE_INVALID
        elif minor < 32:
            error.detail = re.sub(
                r"^may not be more than (\d+) bytes?$", r"must have at most \1 bytes", error.detail
            )
    return errors


def _shown(value: object) -> object:
    """Up to 1.33 text is quoted as Go does, unless it can print itself, and nothing at all is shown as a text."""
    if value is None:
        return "null"
    if isinstance(value, ResourceName):
        return Verbatim(value)
    return str(value) if isinstance(value, Named) else value


#: The release that says nothing twice.
EACH_ONCE_SINCE = 37


def merge(
    by_hand_errors: list[FieldError],
    declarative: list[FieldError],
    to_hub: Callable[[Path], Path],
    *,
    minor: int = NEWEST,
    takes_over: bool = True,
) -> list[FieldError]:
    """The server's list: hand-written errors without those that a declarative error repeats, then the declarative ones.

    A covered error is repeated if a declarative one has its kind, its origin (an invalid value must have one) and,
    brought to the hub's shape by ``to_hub``, its path.  Since 1.37 a hand-written error is not repeated word for word.

    :param minor: the release.
    :param takes_over: whether the declarative rules are in force.
    """
    if not by_hand_errors:
        return declarative
    if minor < 36:
        # what is covered goes, whether a declarative rule says it or not
        told = [error for error in by_hand_errors if not (error.covered and takes_over)] + declarative
        # of a full list the first errors are known: if all of them go, there may be others that do not
        return told or (by_hand_errors if errors.is_full(by_hand_errors) else [])
    repeated = {(error.kind, to_hub(error.path), error.origin) for error in declarative}
    kept = [
        error
        for error in by_hand_errors
        if not error.covered
        or (error.kind == errors.INVALID and not error.origin)
        or (error.kind, error.path, error.origin) not in repeated
    ]
    if minor >= EACH_ONCE_SINCE:
        kept = list({_digest(error): error for error in kept}.values())
    return kept + declarative


def _digest(error: FieldError) -> bytes:
    """Of the text, since a thousand errors that show the same value of megabytes are not to be in memory at once."""
    from hashlib import blake2b  # which loads OpenSSL, and most objects have no errors

    return blake2b(str(error).encode("utf-8", "surrogatepass"), digest_size=20).digest()


Labels = Mapping[str, str]
#: The release in which names of objects came to have declared rules.
NAMES_DECLARED_SINCE = 35
#: The release that first drops what is switched off, and only then tidies up what is left.
DROPS_FIRST_SINCE = 35
#: The release whose own types, which hand-written errors are about, came to have the shape of v1.
HUB_LIKE_V1_SINCE = 33


class KindRules(ABC):
    """The rules of one kind: the steps of a review that differ between kinds, in their order.

    Objects are in normal form, in the shape of the hub.  A step may replace members of the object that it is given and
    of its metadata; what is deeper others may look at, but in kinds that hold a pod.

    :ivar kind: the kind.
    :ivar group: its API group; empty for the core group.
    :cvar keeps_generation: the server takes the generation of a new object as it comes; elsewhere it begins with 1.
    :cvar unconditional: versions whose updates may leave out the resourceVersion (None: all).
    """

    __slots__ = ()
    kind: Kind
    group: str
    keeps_generation = False
    unconditional: tuple[str, ...] | None = None

    def has_status(self, profile: Profile) -> bool:
        """Whether the server has a URL for the status."""
        return "status" in profile.hub[self.kind.name].by_name

    @abstractmethod
    def read(self, obj: Object, version: str, setting: Setting) -> Object:
        """The object of a request, as decoded from ``version``, in the shape of the hub and with its defaults."""

    @abstractmethod
    def read_stored(self, stored: Object, version: str, setting: Setting) -> Object:
        """The stored object (JSON of ``version``) in the shape of the hub."""

    @abstractmethod
    def prepare(self, verb: str, obj: Object, old: Object | None, setting: Setting) -> None:
        """Put back what a client may not set, and drop what is switched off."""

    @abstractmethod
    def errors(
        self, request: Request, version: str, obj: Object, old: Object | None, setting: Setting
    ) -> list[FieldError]:
        """What is wrong with the object, in the server's order."""

    def admit(self, obj: Object, setting: Setting) -> Answer | None:
        """The refusal of an admission plugin that is asked once the rules hold."""
        return None

    def warnings(self, verb: str, obj: Object, profile: Profile) -> list[str]:
        """What the server warns about an object that it takes."""
        return []

    @abstractmethod
    def present(self, obj: Object, api_version: str, setting: Setting) -> Object:
        """The object as JSON of ``api_version``."""


class ResourceKindRules(KindRules):
    """The rules of a kind of ``resource.k8s.io`` of any release: how its objects are read and given back."""

    __slots__ = ()
    group = GROUP

    def read(self, obj: Object, version: str, setting: Setting) -> Object:
        """The object in the shape of the hub, with its defaults."""
        return normalized(self.kind.name, version, obj, defaults=setting.now())

    def read_stored(self, stored: Object, version: str, setting: Setting) -> Object:
        """The stored object in the shape of the hub; it has had its defaults."""
        name = self.kind.name
        return hub_object(stored, setting.profile.schemas, kind=name, version=version, defaults=None)

    def present(self, obj: Object, api_version: str, setting: Setting) -> Object:
        """The object as JSON of ``api_version``."""
        return setting.present(self.kind.name, api_version, obj)


class NamespaceRule:
    """A hand-written rule about a new spec that depends on the namespace.

    :param field: the name of a field; the rule accepts every spec that has no such field anywhere.
    :param check: reports what is wrong with a spec, given the labels of the namespace.
    """

    __slots__ = ("check", "field")

    def __init__(self, field: str, check: Callable[[Object, Checks, Labels], None]) -> None:
        self.field = field
        self.check = check


class DeviceKindRules(ResourceKindRules):
    """The rules of a kind of ``resource.k8s.io`` as it is today; each is a subclass, which states what must hold.

    What a rule about a new object can depend on is what it is given: ``check_spec`` is given the spec,
    ``check_own_metadata`` the metadata, and only ``namespace_rules`` get the labels of the namespace as well.

    :cvar namespace_rules: the rules about a new object that depend on its namespace; they are checked first.
    :cvar name_origin: the origin of the declarative rule that reports a bad name as well, if there is one.
    :cvar declared_since: the first release in which the server checks the kind by the rules that its fields declare.
    """

    __slots__ = ()
    declared_since = 0
    namespace_rules: tuple[NamespaceRule, ...] = ()
    name_origin = ""

    @abstractmethod
    def check_spec(self, spec: Object, checks: Checks) -> None:
        """Hand-written rules about a new spec; they depend on nothing else."""

    def check_own_metadata(self, obj: Object, checks: Checks) -> None:
        """Hand-written rules about the metadata."""
        origin = self.name_origin if checks.minor >= NAMES_DECLARED_SINCE else ""
        check_metadata(obj, checks, namespaced=self.kind.namespaced, name_origin=origin)

    @abstractmethod
    def check_changed(self, obj: Object, old: Object, checks: Checks) -> None:
        """Hand-written rules about an update."""

    def check_status(self, obj: Object, old: Object, checks: Checks, labels: Labels) -> None:
        """Hand-written rules about an update of the status; for kinds that have one."""
        raise NotImplementedError

    def tidy(self, obj: Object, old: Object, now: str) -> None:
        """What the server changes by itself in an update."""

    def tidy_status(self, obj: Object, old: Object) -> None:
        """What the server changes by itself in an update of the status."""

    def prepare(self, verb: str, obj: Object, old: Object | None, setting: Setting) -> None:
        """A status is changed through its own URL only, and nothing else is changed there."""
        gates, schema = setting.profile.gates, setting.profile.schemas["v1"]
        if verb == STATUS:
            assert old is not None
            keep_all_but_status(obj, old)
            first = setting.profile.minor < DROPS_FIRST_SINCE
            if first:
                self.tidy_status(obj, old)
            if "status" in obj:
                # here a feature is in use if the stored object has it anywhere, spec or status
                kept = without_disabled(schema, self.kind.name, {"status": obj["status"]}, old, gates)
                obj["status"] = dict(kept["status"])
            if not first:
                self.tidy_status(obj, old)
            return
        if self.kind.has_status:
            keep_stored(obj, old, "status")
        if old is not None:
            self.tidy(obj, old, setting.now())
        if "spec" in obj:
            stored = None if old is None else old.get("spec")
            struct = V1[self.kind.name]["spec"].type.struct
            obj["spec"] = without_disabled(schema, struct, obj["spec"], stored, gates)

    def errors(
        self, request: Request, version: str, obj: Object, old: Object | None, setting: Setting
    ) -> list[FieldError]:
        """Those of the hand-written rules, then those of the rules that the fields declare."""
        checks = setting.checks()
        labels = setting.namespace_labels(request.namespace)
        with suppress(TooManyErrors):
            self._check(request.verb, obj, old, checks, labels)
        declarative = ErrorList()
        name, profile = self.kind.name, setting.profile
        is_declared = profile.minor >= self.declared_since
        if is_declared:
            with suppress(TooManyErrors):
                setting.declarative_pass(version).check(
                    name,
                    from_hub(name, version, obj),
                    None if old is None else from_hub(name, version, old),
                    declarative,
                )
        errors = in_words_of(
            profile.minor,
            merge(
                checks.errors,
                declarative,
                path_to_hub,
                minor=profile.minor,
                takes_over=profile.declarative and is_declared,
            ),
        )
        if profile.minor < HUB_LIKE_V1_SINCE:
            for error in errors:
                error.path = path_to_version(error.path, name, "v1beta1")
        return errors

    def _check(self, verb: str, obj: Object, old: Object | None, checks: Checks, labels: Labels) -> None:
        """Hand-written rules, in the server's order."""
        if verb == CREATE:
            spec = obj.get("spec", EMPTY)
            for rule in self.namespace_rules:
                rule.check(spec, checks, labels)
            self.check_own_metadata(obj, checks)
            self.check_spec(spec, checks)
            if not checks.errors:  # so that the rest of what is common to all kinds holds already
                check_names_in_url(obj.get("metadata", EMPTY), checks)
            return
        assert old is not None
        check_common_metadata(obj, checks, namespaced=self.kind.namespaced)
        check_common_metadata_update(obj, old, checks)
        if verb == STATUS:
            self.check_status(obj, old, checks, labels)
        else:
            self.check_changed(obj, old, checks)


class ChangeableSpecRules(DeviceKindRules):
    """The rules of a kind whose spec may change: the same rules hold for a new and a changed spec."""

    __slots__ = ()

    @abstractmethod
    def check_either_spec(self, spec: Object, old: Object | None, checks: Checks) -> None:
        """Hand-written rules about a spec: a new one if ``old`` is None, else a change of ``old``."""

    def check_spec(self, spec: Object, checks: Checks) -> None:
        """Hand-written rules about a new spec."""
        self.check_either_spec(spec, None, checks)

    def check_changed(self, obj: Object, old: Object, checks: Checks) -> None:
        """Hand-written rules about an update."""
        check_metadata_update(obj, old, checks)
        self.check_either_spec(obj.get("spec", EMPTY), old.get("spec", EMPTY), checks)


# The metadata that an update of the status does not change.
_NOT_OF_STATUS = (
    "deletionTimestamp",
    "finalizers",
    "generation",
    "labels",
    "annotations",
    "ownerReferences",
    "selfLink",
)


def keep_all_but_status(obj: Object, old: Object) -> None:
    """Put back what an update of the status does not change."""
    keep_stored(obj, old, "spec")
    meta, before = obj["metadata"], old.get("metadata", EMPTY)
    for name in _NOT_OF_STATUS:
        keep_stored(meta, before, name)


def keep_stored(obj: Object, old: Object | None, name: str) -> None:
    """Put back the stored value of a field."""
    if old is not None and name in old:
        obj[name] = old[name]
    else:
        obj.pop(name, None)
