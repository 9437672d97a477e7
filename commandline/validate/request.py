"""What the options of ``validate`` ask: which server, with which objects, in which request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from claimcheck.answers.cluster_context import Knowledge
from claimcheck.answers.outcome import Outcome
from claimcheck.answers.validate.batch import Batch, decodable
from claimcheck.answers.validate.review import OFF, Question, Reviewer
from claimcheck.answers.validate.sending import APPLY, AS_SENT, CREATE_ONLY, PATCH, SERVER_SIDE
from commandline.errors import UsageError
from commandline.options import asks_for_cluster
from commandline.reading import context_of, read_named
from documents.errors import DocumentError
from documents.parsing import first_document
from documents.source import read_file

if TYPE_CHECKING:
    from argparse import Namespace

    from advice.findings import Result
    from claimcheck.answers.outcome import Failure
    from claimcheck.answers.validate.live_checks import LiveChecks
    from claimcheck.answers.validate.sending import Change
    from documents.manifest import Manifest
    from resourceapi.releases import Profile


def knowledge_of(options: Namespace, profile: Profile) -> Knowledge:
    """What is known before anything has been read."""
    facts = None
    if not options.no_lint:
        from advice.lints.facts import REFERRED, Facts

        is_whole_cluster = bool(options.inventory) or asks_for_cluster(options)
        facts = Facts(
            profile,
            default_namespace=options.namespace,
            complete=REFERRED if is_whole_cluster else (),
            is_live=asks_for_cluster(options),
        )
    return Knowledge(context_of(options.namespace_labels), facts)


def batch_of(options: Namespace, profile: Profile) -> Batch:
    """A batch for files, or for objects of the cluster."""
    named = () if options.as_found else options.paths
    return Batch(knowledge_of(options, profile), profile, named, is_live=asks_for_cluster(options))


def existing(options: Namespace, profile: Profile) -> Iterator[Manifest | Result | Failure]:
    """The objects of ``--inventory``."""
    if options.inventory:
        yield from decodable(read_named("--inventory", options.inventory), profile)


def reviewer_of(
    options: Namespace, profile: Profile, knowledge: Knowledge, checks: LiveChecks | None = None
) -> Reviewer:
    """The reviewer of manifests; call this after all of them have been read, because they depend on each other.

    :param checks: the live cluster that files are checked against.
    """
    knowledge.context.finish()
    if checks is not None:
        checks.look_up_namespaces(knowledge.context)
    question = Question(
        namespace=options.namespace,
        only_namespace=options.namespace_given if options.paths else "",
        subresource=options.subresource,
        sender=sender_of(options),
        change=change_of(options) if options.server_side or options.patch else None,
        live=checks is None and asks_for_cluster(options),
        notes=options.notes,
        severities={**options.severity, **dict.fromkeys(options.disable, OFF)},
    )
    outcome = Outcome(profile.name)
    return Reviewer(knowledge.server(profile), knowledge, outcome, question, checks=checks)


def sender_of(options: Namespace) -> str:
    """Who sends the objects, as the options of ``validate`` say."""
    given = (
        (options.as_sent, AS_SENT),
        (options.patch, PATCH),  # the others may be settings of a repository
        (options.server_side, SERVER_SIDE),
        (options.create, CREATE_ONLY),
    )
    return next((sender for is_given, sender in given if is_given), APPLY)


def change_of(options: Namespace) -> Change:
    """What the options of ``validate`` say.

    :raises UsageError: if the patch cannot be read.
    """
    from claimcheck.answers.validate.sending import Change

    patch = None
    if options.patch:
        try:
            patch = first_document(read_file(options.patch), options.patch)
        except DocumentError as error:
            raise UsageError(f"--patch-file {error}") from None
    return Change(
        manager=options.field_manager or "kubectl",
        force=options.force_conflicts,
        patch=patch,
        patch_type=options.patch_type,
    )
