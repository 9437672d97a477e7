"""Manifests that are read and then reviewed together, and what they say about each other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from advice.findings import Result
from claimcheck.answers.outcome import Failure, Outcome
from claimcheck.answers.reading import readable, unusable
from claimcheck.answers.treatment import CONTEXT, NOT_SERVED, SKIP, treatment
from commandline.context import ClusterContext
from commandline.options import asks_for_cluster
from commandline.progress import Progress
from commandline.reading import read_named
from commandline.validate.patching import change_of
from commandline.validate.review import Reviewer
from commandline.validate.sending import sender_of
from resourceapi.decoding import DecodingError
from resourceapi.kinds import kind_of
from resourceapi.manifests import pod_spec
from resourceapi.recognition import is_known, is_manifest, is_preview
from validation.server import Server

if TYPE_CHECKING:
    from argparse import Namespace

    from commandline.validate.live import LiveChecks
    from documents.manifest import Manifest
    from resourceapi.releases import Profile


class Knowledge:
    """What manifests say about each other: namespaces and nodes, and the facts for lints unless these are off."""

    def __init__(self, options: Namespace, profile: Profile) -> None:
        self.context = ClusterContext(options.namespace_labels)
        self.facts = None
        if not options.no_lint:
            from advice.lints.facts import REFERRED, Facts

            is_whole_cluster = bool(options.inventory) or asks_for_cluster(options)
            self.facts = Facts(
                profile,
                default_namespace=options.namespace,
                complete=REFERRED if is_whole_cluster else (),
                is_live=asks_for_cluster(options),
            )

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


class Batch:
    """The manifests of the input, or of an inventory, in their order."""

    def __init__(self, options: Namespace, profile: Profile) -> None:
        self.knowledge = Knowledge(options, profile)
        self.outcome = Outcome(profile.name)
        self._profile = profile
        self._named = frozenset(() if options.as_found else options.paths)
        self._is_live = asks_for_cluster(options)
        self.objects: list[tuple[Manifest | Result, str]] = []

    def read(self, inputs: Iterable[Manifest | Result | Failure], progress: Progress) -> None:
        """Read the manifests, and learn from each."""
        first = len(self.objects)
        for found in inputs:
            progress.step()
            if isinstance(found, Failure):
                self.outcome.failures.append(found)
            elif isinstance(found, Result):
                self.objects.append((found, ""))
            else:
                how = treatment(found.value)
                if how == SKIP and is_manifest(found.value) and not self._knows(found.value):
                    how = NOT_SERVED
                self.knowledge.learn(found, how)
                self.objects.append((found, how))
        self._refuse_strays(first)

    def _knows(self, value: dict[str, Any]) -> bool:
        return is_known(value, self._profile) or (self._is_live and is_preview(value))

    def _refuse_strays(self, first: int) -> None:
        """Refuse what is no manifest, unless a directory was searched for manifests and its file has none."""
        manifests = [each for each, _ in self.objects[first:] if not isinstance(each, Result)]
        files = {each.file for each in manifests if is_manifest(each.value)}
        files.update(self._named)
        for number, (found, how) in enumerate(self.objects[first:], first):
            if (
                how == SKIP
                and not isinstance(found, Result)
                and found.file in files
                and not is_manifest(found.value)
            ):
                self.objects[number] = found, NOT_SERVED

    def read_inventory(self, inputs: Iterable[Manifest | Result | Failure]) -> None:
        """Learn from existing objects, which are not validated themselves."""
        for manifest in readable(inputs, self.outcome.failures):
            self.knowledge.learn(manifest, treatment(manifest.value))

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

    def review(self, reviewer: Reviewer, progress: Progress) -> None:
        """Review the manifests that were read."""
        reviewer.outcome = self.outcome
        for found, how in self.objects:
            progress.step()
            if isinstance(found, Result):
                self.outcome.results.append(found)
            else:
                reviewer.review(found, how)


def existing(options: Namespace, profile: Profile) -> Iterator[Manifest | Result | Failure]:
    """The objects of ``--inventory``."""
    if options.inventory:
        yield from _checked(read_named("--inventory", options.inventory), profile)


def _checked(
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


def reviewer_of(
    options: Namespace, profile: Profile, knowledge: Knowledge, checks: LiveChecks | None = None
) -> Reviewer:
    """The reviewer of manifests; call this after all of them have been read, because they depend on each other.

    :param checks: the live cluster that files are checked against.
    """
    context = knowledge.context
    context.finish()
    if checks is not None:
        checks.look_up_namespaces(context)
    return Reviewer(
        Server(profile, namespaces=context.namespaces, nodes=context.nodes),
        context,
        Outcome(profile.name),
        facts=knowledge.facts,
        subresource=options.subresource,
        namespace=options.namespace,
        live=checks is None and asks_for_cluster(options),
        checks=checks,
        only_namespace=options.namespace_given if options.paths else "",
        notes=options.notes,
        disabled=options.disable,
        sender=sender_of(options),
        change=change_of(options) if options.server_side or options.patch else None,
    )
