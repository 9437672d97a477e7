"""``claimcheck validate``: the server's answer about every object of the input, and lints."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from commandline.context import Context
from commandline.errors import UsageError
from commandline.manifests import ASK, CONTEXT, treatment
from commandline.progress import track
from commandline.reading import read
from commandline.results import Failure, Outcome, Result
from commandline.review import Reviewer
from commandline.target import profile_of
from validation.server import Server

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from commandline.manifests import Manifest
    from resourceapi.releases import Profile
    from validation.lints import Facts


def add_arguments(parser: ArgumentParser) -> None:
    from commandline.options import describe

    describe(parser)


def run(options: Namespace) -> int:
    """Validate what the options name, and write the reports.

    :raises UsageError: for options that make no sense together.
    """
    from commandline.options import check, outputs

    check(options)
    wanted = outputs(options.output)
    outcome = validate(options)
    _report(outcome, wanted)
    return outcome.exit_code(warnings_as_errors=options.warnings_as_errors)


def validate(options: Namespace) -> Outcome:
    """What is to be said about everything that the options name.

    All is read before anything is answered, because objects depend on others that may come later.
    """
    profile = profile_of(options)
    context = Context(options.namespace_labels)
    facts = None if options.no_lint else _facts(profile, options)
    outcome = Outcome(profile.name)
    objects = _read(_inputs(options, profile), context, facts, outcome)
    _read_inventory(options.inventory, context, facts, outcome)
    context.finish()
    server = Server(profile, namespaces=context.namespaces, nodes=context.nodes)
    stored = None
    if options.old:
        from commandline.stored import StoredObjects

        stored = StoredObjects(options.old, server, options.namespace)
    reviewer = Reviewer(
        server,
        context,
        outcome,
        facts=facts,
        stored=stored,
        subresource=options.subresource,
        namespace=options.namespace,
        live=options.kubeconfig is not None,
        notes=options.notes,
    )
    for found, how in track(objects, "objects", len(objects)):
        if isinstance(found, Result):
            outcome.results.append(found)
        else:
            reviewer.review(found, how)
    if stored is not None:
        stored.insist_on_use()
    return outcome


def _facts(profile: Profile, options: Namespace) -> Facts:
    from validation.lints import Facts

    all_classes = bool(options.inventory or options.kubeconfig)
    return Facts(
        profile,
        default_namespace=options.namespace,
        classes_known=all_classes,
        devices_known=all_classes,
    )


def _read(
    inputs: Iterable[Manifest | Result | Failure], context: Context, facts: Facts | None, outcome: Outcome
) -> list[tuple[Manifest | Result, str]]:
    """The objects to validate, and what to do with each."""
    objects: list[tuple[Manifest | Result, str]] = []
    for found in track(inputs, "documents read"):
        if isinstance(found, Failure):
            outcome.failures.append(found)
        elif isinstance(found, Result):
            objects.append((found, ""))
        else:
            how = treatment(found.value)
            _learn(found, how, context, facts)
            objects.append((found, how))
    return objects


def _inputs(options: Namespace, profile: Profile) -> Iterable[Manifest | Result | Failure]:
    if options.kubeconfig is None:
        return read(options.paths)
    from commandline.cluster import live_objects

    return live_objects(options.kubeconfig, options.kube_context, profile)


def _read_inventory(paths: list[str], context: Context, facts: Facts | None, outcome: Outcome) -> None:
    """Objects that are there already: they say something about others and are not validated themselves."""
    for found in read(paths):
        if isinstance(found, Failure):
            outcome.failures.append(found)
        elif isinstance(found, Result):
            finding = found.findings[0]
            outcome.failures.append(Failure(found.file, f"line {finding.line}: {finding.message}"))
        else:
            _learn(found, treatment(found.value), context, facts)


def _learn(manifest: Manifest, how: str, context: Context, facts: Facts | None) -> None:
    if how == CONTEXT:
        context.learn(manifest.value)
    elif how == ASK and facts is not None:
        facts.learn(manifest.value)


def _report(outcome: Outcome, wanted: list[tuple[str, str]]) -> None:
    """Write each report to its file, or to standard output; without the latter, the summary goes to stderr."""
    from commandline.reports import write
    from commandline.reports.text import summary

    for format, file in wanted:
        if not file:
            write(format, outcome, sys.stdout, color=_colored())
            continue
        try:
            with open(file, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
                write(format, outcome, stream)
        except OSError as error:
            raise UsageError(f"cannot write {file}: {(error.strerror or str(error)).lower()}") from None
    if all(file for _, file in wanted):
        print(summary(outcome), file=sys.stderr)


def _colored() -> bool:
    import os

    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
