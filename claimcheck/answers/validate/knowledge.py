"""What manifests say about each other."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from claimcheck.answers.treatment import CONTEXT
from validation.server import Server

if TYPE_CHECKING:
    from advice.lints.facts import Facts
    from claimcheck.answers.cluster_context import ClusterContext
    from documents.manifest import Manifest
    from resourceapi.releases import Profile


class Knowledge:
    """What manifests say about each other: namespaces and nodes, and the facts for lints unless these are off."""

    def __init__(self, context: ClusterContext, facts: Facts | None) -> None:
        self.context = context
        self.facts = facts

    def forgo(self, unread: Mapping[str, Collection[str]]) -> None:
        """Take nothing for missing of kinds of which objects could not be read, but in the namespaces where all were."""
        if self.facts is not None:
            self.facts.complete = self.facts.complete.difference(unread)
            self.facts.complete_in = {kind: set(namespaces) for kind, namespaces in unread.items()}

    def learn(self, manifest: Manifest, how: str) -> None:
        """Learn what a manifest says about others; ``how`` is its treatment."""
        if how == CONTEXT:
            self.context.learn(manifest.value)
        elif self.facts is not None:
            self.facts.learn(manifest.value, manifest.file)

    def learnt(self) -> Any:
        """Everything learnt so far, as plain data for another process."""
        return self.context.learnt(), None if self.facts is None else self.facts.learnt()

    def add(self, learnt: Any) -> None:
        """Add what another process has learnt from manifests that come later."""
        context, facts = learnt
        self.context.add(context)
        if self.facts is not None:
            self.facts.add(facts)

    def server(self, profile: Profile) -> Server:
        """The server that answers about them; to be asked for after all of them have been read."""
        self.context.finish()
        return Server(profile, namespaces=self.context.namespaces, nodes=self.context.nodes)
