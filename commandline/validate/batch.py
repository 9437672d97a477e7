"""Objects that are read, and later reviewed, together; and what they say about others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from commandline.context import Context
from commandline.progress import Progress
from commandline.results import Failure, Outcome, Result
from commandline.treatment import ASK, CONTEXT, treatment
from commandline.validate.review import Reviewer
from validation.server import Server

if TYPE_CHECKING:
    from argparse import Namespace

    from commandline.treatment import Manifest
    from resourceapi.releases import Profile


class Knowledge:
    """What objects say about others: namespaces and nodes; for lints, if they are wanted, also what ``facts`` has."""

    def __init__(self, options: Namespace, profile: Profile) -> None:
        self.context = Context(options.namespace_labels)
        self.facts = None
        if not options.no_lint:
            from advice.lints import Facts

            all_classes = bool(options.inventory or options.kubeconfig)
            self.facts = Facts(
                profile,
                default_namespace=options.namespace,
                classes_known=all_classes,
                devices_known=all_classes,
            )

    def learn(self, manifest: Manifest, how: str) -> None:
        """Note what an object says, which is to be treated like this."""
        if how == CONTEXT:
            self.context.learn(manifest.value)
        elif how == ASK and self.facts is not None:
            self.facts.learn(manifest.value)

    def learnt(self) -> Any:
        """What has been learnt, to be sent to another process."""
        return self.context.learnt(), None if self.facts is None else self.facts.learnt()

    def add(self, learnt: Any) -> None:
        """Note what has been learnt elsewhere from objects that come later."""
        context, facts = learnt
        self.context.add(context)
        if self.facts is not None:
            self.facts.add(facts)


class Batch:
    """Objects of the input, or of an inventory, in their order."""

    def __init__(self, options: Namespace, profile: Profile) -> None:
        self.knowledge = Knowledge(options, profile)
        self.outcome = Outcome(profile.name)
        self.objects: list[tuple[Manifest | Result, str]] = []

    def read(self, inputs: Iterable[Manifest | Result | Failure], progress: Progress) -> None:
        """Read the objects, and note what is to be done with each."""
        for found in inputs:
            progress.step()
            if isinstance(found, Failure):
                self.outcome.failures.append(found)
            elif isinstance(found, Result):
                self.objects.append((found, ""))
            else:
                how = treatment(found.value)
                self.knowledge.learn(found, how)
                self.objects.append((found, how))

    def read_inventory(self, inputs: Iterable[Manifest | Result | Failure]) -> None:
        """Objects that are there already: they say something about others and are not validated themselves."""
        for found in inputs:
            if isinstance(found, Failure):
                self.outcome.failures.append(found)
            elif isinstance(found, Result):
                finding = found.findings[0]
                message = f"line {finding.line}: {finding.message}"
                self.outcome.failures.append(Failure(found.file, message))
            else:
                self.knowledge.learn(found, treatment(found.value))

    def review(self, reviewer: Reviewer, progress: Progress) -> None:
        """Find out what is to be said about the objects."""
        reviewer.outcome = self.outcome
        for found, how in self.objects:
            progress.step()
            if isinstance(found, Result):
                self.outcome.results.append(found)
            else:
                reviewer.review(found, how)


def reviewer_of(options: Namespace, profile: Profile, knowledge: Knowledge) -> Reviewer:
    """What asks the server about objects, once everything is known that they may depend on."""
    context = knowledge.context
    context.finish()
    return Reviewer(
        Server(profile, namespaces=context.namespaces, nodes=context.nodes),
        context,
        Outcome(profile.name),
        facts=knowledge.facts,
        subresource=options.subresource,
        namespace=options.namespace,
        live=options.kubeconfig is not None,
        notes=options.notes,
    )
