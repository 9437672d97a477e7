"""One request for an object of any kind, from the decoded objects to the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from resourceapi.measured import measured
from resourceapi.objects import EMPTY, Object
from resourceapi.releases import split_api_version
from validation import statuses
from validation.checks import ServerPanic
from validation.kind_rules import KindRules
from validation.requests import CREATE, Answer, DecodedRequest

if TYPE_CHECKING:
    from validation.setting import Setting


REPEATED_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject"
    " such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
)


def without_repeated_owners(obj: Object, review: Callable[[], Answer]) -> Answer:
    """The answer of a review of the object in which each owner stands once, with a warning about those that did not."""
    warnings = _drop_repeated(obj)
    answer = review()
    if answer.code != statuses.BAD_REQUEST:  # that is told before the owners are looked at
        answer.warnings = warnings + answer.warnings
    return answer


def _drop_repeated(obj: Object) -> list[str]:
    """An owner that is listed twice stays once; returns what the server warns about that."""
    meta = obj.get("metadata", EMPTY)
    owners = meta.get("ownerReferences")
    if not owners or len(owners) < 2:
        return []
    kept: dict[frozenset[tuple[str, Any]], Object] = {}  # by all of its fields, which are scalars
    repeated = []
    for owner in owners:
        if kept.setdefault(frozenset(owner.items()), owner) is not owner:
            repeated.append(owner.get("uid", ""))
    meta["ownerReferences"] = list(kept.values())
    return [REPEATED_OWNERS + ", ".join(repeated)] if repeated else []


class Review:
    """What a server does with one request: the steps that are the same for every kind."""

    def __init__(self, setting: Setting, rules: KindRules, decoded: DecodedRequest) -> None:
        self.setting = setting
        self.rules = rules
        self.request = decoded.request
        self.version = decoded.version
        self.obj = _with_own_metadata(decoded.object)
        self.old = None if decoded.old is None else _with_own_metadata(decoded.old)

    def answer(self) -> Answer:
        """What the server answers; an owner that is listed twice stays once."""
        try:
            return without_repeated_owners(self.obj, self._answer)
        except ServerPanic as panic:
            return statuses.panicked(measured(self.setting.profile.minor), panic.path)

    def _answer(self) -> Answer:
        refusal = self._identify()
        if refusal is not None:
            return refusal
        rules, verb = self.rules, self.request.verb
        rules.prepare(verb, self.obj, self.old, self.setting)
        errors = rules.errors(self.request, self.version, self.obj, self.old, self.setting)
        if errors:
            name = self.obj.get("metadata", EMPTY).get("name", "")
            return statuses.invalid(
                rules.kind.name, name, errors, split_api_version(self.request.api_version)[0]
            )
        refusal = rules.admit(self.obj, self.setting)
        if refusal is not None:
            return refusal
        return Answer(
            201 if verb == CREATE else 200,
            build=lambda: rules.present(self.obj, self.request.api_version, self.setting),
            warnings=rules.warnings(verb, self.obj, self.setting.profile),
        )

    def _identify(self) -> Answer | None:
        """Name, namespace and the stored object that the request is about."""
        rules = self.rules
        if self.request.verb == CREATE:
            return statuses.identify_new(
                self.obj,
                self.request,
                namespaced=rules.kind.namespaced,
                keeps_generation=rules.keeps_generation,
            )
        assert self.old is not None
        unconditional = rules.unconditional is None or self.version in rules.unconditional
        return statuses.identify_stored(
            self.obj, self.old, self.request, rules.kind, unconditional=unconditional
        )


def _with_own_metadata(obj: Object) -> Object:
    """A copy of an object whose members and whose metadata's members can be replaced."""
    own = dict(obj)
    if "metadata" in own:
        own["metadata"] = dict(own["metadata"])
    return own
