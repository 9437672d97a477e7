"""Manifests that are read and then reviewed together, and what they say about each other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from advice.findings import Result
from claimcheck.answers.handling import LINT, NOT_SERVED, SKIP, handling_of
from claimcheck.answers.outcome import Failure, Outcome
from claimcheck.answers.reading import readable, unusable
from resourceapi.decoding import DecodingError
from resourceapi.kinds import kind_of
from resourceapi.manifests import pod_spec
from resourceapi.recognition import is_known, is_manifest, is_preview

if TYPE_CHECKING:
    from claimcheck.answers.cluster_context import Knowledge
    from claimcheck.answers.validate.review import Reviewer
    from documents.manifest import Manifest
    from resourceapi.releases import Profile


class Batch:
    """The manifests of the input, or of an inventory, in their order.

    :param named: see the attribute.
    :param is_live: whether the cluster is a live one.
    """

    def __init__(
        self, knowledge: Knowledge, profile: Profile, named: Iterable[str] = (), *, is_live: bool = False
    ) -> None:
        self.knowledge = knowledge
        self.outcome = Outcome(profile.name)
        self._profile = profile
        #: the files in which everything has to be a manifest
        self.named = set(named)
        self._is_live = is_live
        self.objects: list[tuple[Manifest | Result, str]] = []

    def read(
        self, inputs: Iterable[Manifest | Result | Failure], step: Callable[[], None] = lambda: None
    ) -> None:
        """Read the manifests, and learn from each; ``step`` is called before each."""
        first = len(self.objects)
        for found in inputs:
            step()
            if isinstance(found, Failure):
                self.outcome.failures.append(found)
            elif isinstance(found, Result):
                self.objects.append((found, ""))
            else:
                how = handling_of(found.value)
                if how in (SKIP, LINT) and is_manifest(found.value) and not self._knows(found.value):
                    how = NOT_SERVED
                self.knowledge.learn(found, how)
                self.objects.append((found, how))
        self._refuse_strays(first)

    def _knows(self, value: dict[str, Any]) -> bool:
        return is_known(value, self._profile) or (self._is_live and is_preview(value))

    def _refuse_strays(self, first: int) -> None:
        """Refuse what is no manifest, unless a directory was searched for manifests and its file has none."""
        strays = [
            (number, found)
            for number, (found, how) in enumerate(self.objects[first:], first)
            if how == SKIP and not isinstance(found, Result) and not is_manifest(found.value)
        ]
        if not strays:
            return
        manifests = [each for each, _ in self.objects[first:] if not isinstance(each, Result)]
        files = {each.file for each in manifests if is_manifest(each.value)}
        files.update(self.named)
        for number, found in strays:
            if found.file in files:
                self.objects[number] = found, NOT_SERVED

    def read_inventory(self, inputs: Iterable[Manifest | Result | Failure]) -> None:
        """Learn from existing objects, which are not validated themselves."""
        for manifest in readable(inputs, self.outcome.failures):
            self.knowledge.learn(manifest, handling_of(manifest.value))

    def know(self, inventory: Batch, unread: Mapping[str, Collection[str]]) -> None:
        """Add what an inventory says, which comes later than all objects of the input.

        :param unread: see :meth:`Knowledge.forgo`.
        """
        self.knowledge.add(inventory.knowledge.learnt())
        self.knowledge.forgo(unread)

    def namespaces_of_users(self) -> set[str]:
        """The namespaces of pods and workloads that name claims or templates, which are looked up there."""
        facts = self.knowledge.facts
        if facts is None:
            return set()
        return {
            facts.namespace_of(found.value)
            for found, _ in self.objects
            if not isinstance(found, Result) and pod_spec(found.value)[1].get("resourceClaims")
        }

    def review(self, reviewer: Reviewer, step: Callable[[], None] = lambda: None) -> None:
        """Review the manifests that were read; ``step`` is called before each.

        :raises Unanswerable: if there are stored objects, and none of them is of these manifests, or the server cannot read one.
        """
        reviewer.outcome = self.outcome
        for found, how in self.objects:
            step()
            if isinstance(found, Result):
                self.outcome.results.append(found)
            else:
                reviewer.review(found, how)
        if reviewer.stored is not None:
            reviewer.stored.insist_on_use()


def decodable(
    found: Iterable[Manifest | Result | Failure], profile: Profile
) -> Iterator[Manifest | Result | Failure]:
    """The same, and a Failure for each object of the group that no server can decode: its name is known all the same."""
    from conversion.hub import hub_object

    for each in found:
        yield each
        if isinstance(each, Result | Failure):
            continue
        if kind_of(each.value.get("apiVersion"), each.value.get("kind")) is None:
            continue
        try:
            hub_object(each.value, profile.schemas, defaults=None)
        except DecodingError as error:
            yield unusable(each, error.text, error.path)
