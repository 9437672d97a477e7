"""What requests are answered in: a profile, what the server knows of its cluster, and rules made ready for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Self

from conversion.hub import from_hub, hub_object
from deviceselectors.interface import Compiler
from resourceapi.decoding import Decoded
from resourceapi.encoding import encode
from resourceapi.objects import Object
from resourceapi.releases import Profile, split_api_version
from resourceapi.request_body import read as read_request_body
from resourceapi.request_body import schemas_of
from resourceapi.times import now as current_time
from validation.checks import Checks
from validation.declarative import DeclarativePass
from validation.requests import STRICT, Request

if TYPE_CHECKING:
    from resourceapi.records.nodes import Node

Labels = Mapping[str, str]


class Setting:
    """A profile and its surroundings, the same for every request.

    :param namespaces: labels of the namespaces that are known.
    :param nodes: Nodes (JSON), for what admission wants to know of them.
    :param expressions: the checker of CEL expressions.
    :param now: the time, RFC 3339 in seconds.
    :param verbatim: raw JSON in the objects of answers is the very value that was given; see
        :func:`resourceapi.encoding.encode`.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        namespaces: Mapping[str, Labels] | None = None,
        nodes: Iterable[Node] = (),
        expressions: Compiler | None = None,
        now: Callable[[], str] | None = None,
        verbatim: bool = False,
    ) -> None:
        self.profile = profile
        self._namespaces = {} if namespaces is None else namespaces
        self.nodes = {node.name: node for node in nodes}
        self._expressions = expressions or Compiler()
        self._now = now or current_time
        self._verbatim = verbatim
        self._schema_of = schemas_of(profile)
        self._passes: dict[str, DeclarativePass] = {}

    def with_profile(self, profile: Profile) -> Self:
        """The same surroundings with another profile of the same release and gates."""
        from copy import copy

        other = copy(self)
        other.profile = profile
        return other

    def read_body(self, request: Request) -> Decoded:
        """The object in the body of a request, in the version of its URL.

        :raises BadRequest: if the server refuses the body before it looks at the object.
        """
        return read_request_body(
            raw=request.raw,
            body=request.body,
            api_version=request.api_version,
            kind=request.kind,
            schema_of=self._schema_of,
            strict=request.field_validation == STRICT,
            minor=self.profile.minor,
        )

    def read(self, obj: Object, api_version: str, *, answered: bool = False) -> Object:
        """An object of any version (JSON) as the server returns it in ``api_version``.

        ``answered``: the object is what a server answered, see :func:`resourceapi.decoding.decode`.
        """
        hub = hub_object(obj, self.profile.schemas, written_by_server=answered, defaults=None)
        return self.present(obj["kind"], api_version, hub)

    def present(self, kind: str, api_version: str, hub: Object) -> Object:
        """An object of the hub as JSON of a version."""
        version = split_api_version(api_version)[1]
        schema = self.profile.schemas[version]
        encoded = encode(schema, kind, from_hub(kind, version, hub), verbatim=self._verbatim)
        return {"kind": kind, "apiVersion": api_version, **encoded}

    def checks(self) -> Checks:
        """A place to collect the errors of one object."""
        return Checks(self.profile, self._expressions)

    def declarative_pass(self, version: str) -> DeclarativePass:
        """The declarative rules that this server enforces on a version."""
        found = self._passes.get(version)
        if found is None:
            profile = self.profile
            found = self._passes[version] = DeclarativePass(
                profile.schemas[version], profile.gates, beta=profile.declarative
            )
        return found

    def namespace_labels(self, namespace: str) -> Labels:
        """The labels of a namespace; none if it is not known."""
        return self._namespaces.get(namespace, {})

    def now(self) -> str:
        """The time, RFC 3339 in seconds."""
        return self._now()
