"""kube-apiserver, as far as it answers requests for DRA objects: decode, convert, default, drop, validate, return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from time import gmtime, strftime
from typing import Any

from conversion.hub import from_hub, to_hub
from conversion.paths import to_hub as path_to_hub
from deviceselectors.interface import Compiler, ExpressionChecker
from resourceapi.decoding import decode
from resourceapi.defaults import apply_defaults
from resourceapi.encoding import encode
from resourceapi.fielderrors import FieldError
from resourceapi.gating import drop_disabled
from resourceapi.model.versions import GROUP
from resourceapi.releases import KINDS, Kind, Profile, deprecation_warning, split_api_version
from resourceapi.requestbody import BadRequest, schemas_of
from resourceapi.requestbody import read as read_request_body
from validation import statuses
from validation.checks import Checks, Object
from validation.declared import DeclarativePass, merge
from validation.headers import in_headers
from validation.kinds import RULES, KindRules
from validation.objectmeta import drop_repeated_owners
from validation.requests import CREATE, STATUS, STRICT, WARN, Answer, Request

EMPTY: Object = {}
Labels = Mapping[str, str]


class Server:
    """A server of one profile; it stores nothing, so it may be shared between threads."""

    def __init__(
        self,
        profile: Profile,
        *,
        namespaces: Mapping[str, Labels] | None = None,
        nodes: Iterable[Object] = (),
        expressions: ExpressionChecker | None = None,
        now: Callable[[], str] | None = None,
    ) -> None:
        """
        :param namespaces: labels of the namespaces that are known.
        :param nodes: Nodes (JSON), for what admission wants to know of them.
        :param expressions: the checker of CEL expressions.
        :param now: the time, RFC 3339 in seconds.
        """
        self.profile = profile
        self._namespaces = {} if namespaces is None else namespaces
        self.nodes = {node["metadata"]["name"]: node for node in nodes}
        self._expressions = expressions or Compiler()
        self._now = now or _now
        self.schema_of = schemas_of(profile.schemas)
        self._passes: dict[str, DeclarativePass] = {}

    def handle(self, request: Request) -> Answer:
        """What the server answers to a request."""
        answer = self._handle(request)
        if answer.warnings:
            answer.warnings = in_headers(answer.warnings)
        return answer

    def _handle(self, request: Request) -> Answer:
        group, version = split_api_version(request.api_version)
        if group != GROUP:
            return self._handle_other(request, group, version)
        kind = KINDS.get(request.kind)
        if kind is None or not kind.served(version, self.profile.minor):
            return statuses.not_served()
        if request.verb == STATUS and not RULES[kind.name].has_status:
            return statuses.not_served()  # only kinds with a status have the subresource
        warnings = [warning] if (warning := deprecation_warning(kind, version)) else []
        if refusal := statuses.refuse_size(request.raw):
            refusal.warnings = warnings
            return refusal
        try:
            body = read_request_body(
                raw=request.raw,
                body=request.body,
                api_version=request.api_version,
                kind=request.kind,
                schema_of=self.schema_of,
                strict=request.field_validation == STRICT,
            )
        except BadRequest as error:
            answer = statuses.bad_request(str(error), path=error.path, decoding=error.problems)
        else:
            answer = _Review(self, request, kind, version, body.object).answer()
            answer.decoding = body.problems
        if request.field_validation == WARN:
            warnings += [problem.text for problem in answer.decoding]
        answer.warnings = warnings + answer.warnings
        return answer

    def _handle_other(self, request: Request, group: str, version: str) -> Answer:
        from validation.pods import handle

        return handle(self, request, group, version)

    def read(self, obj: Object, api_version: str) -> Object:
        """An object of any version (JSON) as the server returns it in ``api_version``."""
        _, source = split_api_version(obj["apiVersion"])
        _, target = split_api_version(api_version)
        decoded = decode(self.profile.schemas[source], obj["kind"], obj).object
        hub = to_hub(obj["kind"], source, decoded)
        return self.present(obj["kind"], target, hub)

    def present(self, kind: str, version: str, hub: Object) -> Object:
        """An object of the hub as JSON of a version."""
        schema = self.profile.schemas[version]
        encoded = encode(schema, kind, from_hub(kind, version, hub))
        return {"kind": kind, "apiVersion": f"{GROUP}/{version}", **encoded}

    def checks(self) -> Checks:
        return Checks(self.profile, self._expressions)

    def declarative_pass(self, version: str) -> DeclarativePass:
        """The declarative rules that this server enforces on a version."""
        found = self._passes.get(version)
        if found is None:
            found = self._passes[version] = DeclarativePass(self.profile.schemas[version], self.profile.gates)
        return found

    def namespace_labels(self, namespace: str) -> Labels:
        return self._namespaces.get(namespace, {})

    def now(self) -> str:
        return self._now()


class _Review:
    """One request for a DRA object, once its body is read."""

    def __init__(self, server: Server, request: Request, kind: Kind, version: str, obj: Object) -> None:
        self.server = server
        self.request = request
        self.kind = kind
        self.version = version
        self.rules: KindRules = RULES[kind.name]
        self.obj = to_hub(kind.name, version, obj)
        apply_defaults(kind.name, version, self.obj, server.now())
        self.old: Object | None = None
        if request.old is not None:
            stored = decode(server.profile.schemas[version], kind.name, request.old).object
            self.old = to_hub(kind.name, version, stored)

    def answer(self) -> Answer:
        warnings = drop_repeated_owners(self.obj)
        answer = self._answer()
        answer.warnings = warnings + answer.warnings
        return answer

    def _answer(self) -> Answer:
        refusal = self._identify()
        if refusal is not None:
            return refusal
        self._prepare()
        errors = self._errors()
        if errors:
            return statuses.invalid(self.kind.name, self.obj.get("metadata", EMPTY).get("name", ""), errors)
        refusal = self.rules.admit(self.obj, self.server)
        if refusal is not None:
            return refusal
        code = 201 if self.request.verb == CREATE else 200
        return Answer(
            code,
            build=lambda: self.server.present(self.kind.name, self.version, self.obj),
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
        gates, schema = self.server.profile.gates, self.server.profile.schemas["v1"]
        if self.request.verb == STATUS:
            assert self.old is not None
            self.rules.prepare_status(self.obj, self.old)
            if "status" in self.obj:
                self._drop_status(schema, gates)
            self.rules.tidy_status(self.obj, self.old)
            return
        self.rules.prepare(self.obj, self.old, self.server.now())
        if "spec" in self.obj:
            old = None if self.old is None else self.old.get("spec")
            drop_disabled(schema, self.rules.spec, self.obj["spec"], old, gates)

    def _drop_status(self, schema: Any, gates: frozenset[str]) -> None:
        """In a status update a feature is in use if the stored object has it anywhere, spec or status."""
        only_status = {"status": self.obj["status"]}
        drop_disabled(schema, self.kind.name, only_status, self.old, gates)

    def _errors(self) -> list[FieldError]:
        checks = self.server.checks()
        labels = self.server.namespace_labels(self.request.namespace)
        self.rules.check(self.request.verb, self.obj, self.old, checks, labels)
        declarative: list[FieldError] = []
        kind, version = self.kind.name, self.version
        self.server.declarative_pass(version).check(
            kind,
            from_hub(kind, version, self.obj),
            None if self.old is None else from_hub(kind, version, self.old),
            declarative,
        )
        return merge(checks.errors, declarative, path_to_hub)


def _now() -> str:
    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime())
