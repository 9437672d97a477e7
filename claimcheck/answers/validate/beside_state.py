"""Manifests as kube-apiserver would answer to them in a cluster that has been read, and what lints say of them there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from advice.lints.facts import REFERRED, Facts
from claimcheck.answers.cluster_context import ClusterContext, Knowledge
from claimcheck.answers.cluster_state import CLAIM, TEMPLATE, ClusterState
from claimcheck.answers.outcome import Outcome
from claimcheck.answers.validate.batch import Batch
from claimcheck.answers.validate.review import Question, Reviewer
from claimcheck.answers.validate.sending import CREATE_ONLY
from documents.manifest import Unwritten
from resourceapi import releases
from resourceapi.encoding import encode
from resourceapi.kinds import DEVICE_CLASS, RESOURCE_SLICE
from resourceapi.model.versions import GROUP, SCHEMAS_WITH_PROPOSALS
from resourceapi.objects import Object
from resourceapi.releases import Profile

if TYPE_CHECKING:
    from advice.findings import Result
    from claimcheck.answers.outcome import Failure
    from documents.manifest import Manifest

_SCHEMA = SCHEMAS_WITH_PROPOSALS["v1"]


class BesideState:
    """Answers about manifests beside the objects of a cluster.

    :param profile: the server; None: that of the cluster.
    """

    def __init__(self, state: ClusterState, profile: Profile | None = None) -> None:
        self._namespace = state.default_namespace
        # a server of its own, which serves the versions that it does by default
        self._profile = (profile or state.profile).with_all_apis()
        self._profile.apis = releases.parse_runtime_config("", self._profile.schemas)
        self._existing = self._batch()
        for value in _values(state):
            self._existing.knowledge.learn(Unwritten("the cluster", value), "")
        context = self._existing.knowledge.context
        context.nodes += state.all_nodes()
        context.namespaces.update({name: dict(each) for name, each in state.namespaces.objects.items()})
        self._unread = {kind: {each.read_namespace}.difference({""}) for kind, each in state.unread.items()}

    def _batch(self) -> Batch:
        facts = Facts(self._profile, default_namespace=self._namespace, complete=REFERRED)
        return Batch(Knowledge(ClusterContext(), facts), self._profile, ["text"])

    def answer(self, found: Iterable[Manifest | Result | Failure]) -> Outcome:
        """What a server would answer to requests that create these, one after the other."""
        batch = self._batch()
        batch.read(found)
        batch.know(self._existing, self._unread)
        server = batch.knowledge.server(self._profile)
        question = Question(self._namespace, sender=CREATE_ONLY)
        batch.review(Reviewer(server, batch.knowledge, batch.outcome, question))
        return batch.outcome


def as_written(kind: str, obj: Object) -> dict[str, Any]:
    """An object in normal form as somebody writes it in v1."""
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, **encode(_SCHEMA, kind, obj)}


def _values(state: ClusterState) -> Iterator[dict[str, Any]]:
    """What lints have to know of a cluster."""
    for kind in (RESOURCE_SLICE.name, TEMPLATE, CLAIM):
        yield from (as_written(kind, each) for each in state.of(kind).values())
    for each in state.classes.values():
        selectors = [{"cel": {"expression": expression}} for expression in each.expressions]
        yield {
            "apiVersion": f"{GROUP}/v1",
            "kind": DEVICE_CLASS.name,
            "metadata": {"name": each.name},
            "spec": {"selectors": selectors},
        }
