"""One request for an object of any kind, from the object that was sent to the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resourceapi.objects import EMPTY, Object
from validation import statuses
from validation.kind_rules import KindRules
from validation.owners import without_repeated_owners
from validation.requests import CREATE, Answer, Request

if TYPE_CHECKING:
    from validation.setting import Setting


class Review:
    """One request, once its body is read: the steps that are the same for every kind.

    :param version: the version in the URL.
    :param obj: the object in the body, decoded.
    """

    def __init__(
        self, setting: Setting, request: Request, rules: KindRules, version: str, obj: Object
    ) -> None:
        self.setting = setting
        self.request = request
        self.rules = rules
        self.version = version
        self.obj = rules.read(obj, version, setting)
        self.old = None if request.old is None else rules.read_stored(request.old, version, setting)

    def answer(self) -> Answer:
        """What the server answers; an owner that is listed twice stays once."""
        return without_repeated_owners(self.obj, self._answer)

    def _answer(self) -> Answer:
        refusal = self._identify()
        if refusal is not None:
            return refusal
        rules, verb = self.rules, self.request.verb
        rules.prepare(verb, self.obj, self.old, self.setting)
        errors = rules.errors(self.request, self.version, self.obj, self.old, self.setting)
        if errors:
            name = self.obj.get("metadata", EMPTY).get("name", "")
            return statuses.invalid(rules.kind.name, name, errors, rules.group)
        refusal = rules.admit(self.obj, self.setting)
        if refusal is not None:
            return refusal
        return Answer(
            201 if verb == CREATE else 200,
            build=lambda: rules.present(self.obj, self.version, self.setting),
            warnings=rules.warnings(verb, self.obj),
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
