"""kube-apiserver, as far as it answers requests for DRA objects: decode, convert, default, drop, validate, return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from time import gmtime, strftime

from conversion.hub import from_hub, to_hub
from deviceselectors.interface import Compiler, ExpressionChecker
from resourceapi.decoding import decode
from resourceapi.encoding import encode
from resourceapi.model.versions import GROUP
from resourceapi.releases import KINDS, Profile, deprecation_warning, split_api_version
from resourceapi.requestbody import BadRequest, schemas_of
from resourceapi.requestbody import read as read_request_body
from validation import statuses
from validation.checks import Checks, Object
from validation.declarative import DeclarativePass
from validation.headers import in_headers
from validation.kinds import RULES
from validation.requests import STATUS, STRICT, WARN, Answer, Request
from validation.review import Review

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
        verbatim: bool = False,
    ) -> None:
        """
        :param namespaces: labels of the namespaces that are known.
        :param nodes: Nodes (JSON), for what admission wants to know of them.
        :param expressions: the checker of CEL expressions.
        :param now: the time, RFC 3339 in seconds.
        :param verbatim: raw JSON in the objects of answers is the very value that was given; see
            :func:`resourceapi.encoding.encode`.
        """
        self.profile = profile
        self._namespaces = {} if namespaces is None else namespaces
        self.nodes = {node["metadata"]["name"]: node for node in nodes}
        self._expressions = expressions or Compiler()
        self._now = now or _now
        self._verbatim = verbatim
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
        review = self._review_of(request, group, version)
        if review is None:
            return statuses.not_served()
        warnings = []
        if group == GROUP and (warning := deprecation_warning(KINDS[request.kind], version)):
            warnings.append(warning)
        answer = statuses.refuse_size(request.raw) or self._read_and(review, request)
        if request.field_validation == WARN:
            warnings += [problem.text for problem in answer.decoding]
        answer.warnings = warnings + answer.warnings
        return answer

    def _review_of(self, request: Request, group: str, version: str) -> Callable[[Object], Answer] | None:
        """What answers the request once its body is read; None if the server has no such URL."""
        if group != GROUP:
            from validation import pods

            return pods.review_of(self, request, group, version)
        kind = KINDS.get(request.kind)
        if kind is None or not kind.served(version, self.profile.minor):
            return None
        if request.verb == STATUS and not RULES[kind.name].has_status:
            return None  # only kinds with a status have the subresource
        return lambda obj: Review(self, request, kind, version, obj).answer()

    def _read_and(self, review: Callable[[Object], Answer], request: Request) -> Answer:
        """Read the body and review the object in it."""
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
            return statuses.bad_request(str(error), path=error.path, decoding=error.problems)
        answer = review(body.object)
        answer.decoding = body.problems
        return answer

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
        encoded = encode(schema, kind, from_hub(kind, version, hub), verbatim=self._verbatim)
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


def _now() -> str:
    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime())
