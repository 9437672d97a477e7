"""One request for a DRA object, from the object that was sent to the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conversion.hub import from_hub, to_hub
from conversion.paths import to_hub as path_to_hub
from resourceapi.decoding import decode
from resourceapi.defaults import apply_defaults
from resourceapi.field_errors import FieldError
from resourceapi.gating import drop_disabled
from resourceapi.kinds import Kind
from resourceapi.objects import EMPTY, Object
from validation import statuses
from validation.kinds import RULES, KindRules
from validation.merging import merge
from validation.owners import without_repeated_owners
from validation.requests import CREATE, STATUS, Answer, Request

if TYPE_CHECKING:
    from resourceapi.schema import Schema
    from validation.setting import Setting


class Review:
    """One request for a DRA object, once its body is read."""

    def __init__(self, setting: Setting, request: Request, kind: Kind, version: str, obj: Object) -> None:
        self.setting = setting
        self.request = request
        self.kind = kind
        self.version = version
        self.rules: KindRules = RULES[kind.name]
        self.obj = to_hub(kind.name, version, obj)
        apply_defaults(kind.name, version, self.obj, setting.now())
        self.old: Object | None = None
        if request.old is not None:
            stored = decode(setting.profile.schemas[version], kind.name, request.old).object
            self.old = to_hub(kind.name, version, stored)

    def answer(self) -> Answer:
        """What the server answers; an owner that is listed twice stays once."""
        return without_repeated_owners(self.obj, self._answer)

    def _answer(self) -> Answer:
        refusal = self._identify()
        if refusal is not None:
            return refusal
        self._prepare()
        errors = self._errors()
        if errors:
            return statuses.invalid(self.kind.name, self.obj.get("metadata", EMPTY).get("name", ""), errors)
        refusal = self.rules.admit(self.obj, self.setting)
        if refusal is not None:
            return refusal
        code = 201 if self.request.verb == CREATE else 200
        return Answer(
            code,
            build=lambda: self.setting.present(self.kind.name, self.version, self.obj),
            warnings=self.rules.warnings(self.obj),
        )

    def _identify(self) -> Answer | None:
        """Name, namespace and the stored object that the request is about."""
        if self.request.verb == CREATE:
            return statuses.identify_new(self.obj, self.request, namespaced=self.kind.namespaced)
        assert self.old is not None
        unconditional = self.rules.unconditional is None or self.version in self.rules.unconditional
        return statuses.identify_stored(
            self.obj, self.old, self.request, self.kind, unconditional=unconditional
        )

    def _prepare(self) -> None:
        """What a client may not set goes, and what is switched off."""
        gates, schema = self.setting.profile.gates, self.setting.profile.schemas["v1"]
        if self.request.verb == STATUS:
            assert self.old is not None
            self.rules.prepare_status(self.obj, self.old)
            if "status" in self.obj:
                self._drop_status(schema, gates)
            self.rules.tidy_status(self.obj, self.old)
            return
        self.rules.prepare(self.obj, self.old, self.setting.now())
        if "spec" in self.obj:
            old = None if self.old is None else self.old.get("spec")
            drop_disabled(schema, self.rules.spec, self.obj["spec"], old, gates)

    def _drop_status(self, schema: Schema, gates: frozenset[str]) -> None:
        """In a status update a feature is in use if the stored object has it anywhere, spec or status."""
        only_status = {"status": self.obj["status"]}
        drop_disabled(schema, self.kind.name, only_status, self.old, gates)

    def _errors(self) -> list[FieldError]:
        checks = self.setting.checks()
        labels = self.setting.namespace_labels(self.request.namespace)
        self.rules.check(self.request.verb, self.obj, self.old, checks, labels)
        declarative: list[FieldError] = []
        kind, version = self.kind.name, self.version
        self.setting.declarative_pass(version).check(
            kind,
            from_hub(kind, version, self.obj),
            None if self.old is None else from_hub(kind, version, self.old),
            declarative,
        )
        return merge(checks.errors, declarative, path_to_hub)
