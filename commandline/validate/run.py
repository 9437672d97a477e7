"""Runs ``claimcheck validate``: reviews every object of the input, and writes the reports."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from commandline.color import is_colored
from commandline.errors import UsageError
from commandline.options import profile_of
from commandline.progress import Progress
from commandline.reading import insist_on_one_reader, read_files, read_named
from commandline.validate.batch import Batch, reviewer_of
from documents.errors import DocumentError
from documents.sources import STANDARD_INPUT, find_files

if TYPE_CHECKING:
    from argparse import Namespace

    from advice.findings import Result
    from commandline.results import Failure, Outcome
    from documents.manifest import Manifest
    from resourceapi.releases import Profile

MANY_FILES = 200
MANY_BYTES = 1_000_000
"""From this much input on, several processes are faster than one."""

MOST_PROCESSES = 8
"""The most processes that are used without ``--jobs``."""


def run(options: Namespace) -> int:
    """Validate the objects that the options name, and write the reports.

    :raises UsageError: for options that contradict each other.
    """
    from commandline.validate.options import check, outputs

    check(options)
    wanted = outputs(options.output)
    outcome = validate(options)
    _report(outcome, wanted, options)
    return outcome.exit_code(warnings_as_errors=options.warnings_as_errors)


def validate(options: Namespace) -> Outcome:
    """Validate the objects that the options name.

    Everything is read before the first review, as objects may depend on later ones.
    """
    profile = profile_of(options)
    insist_on_one_reader(options.paths, options.inventory, [options.old])
    if options.kubeconfig is None:
        files = list(find_files(options.paths))
        processes = _processes(options, files)
        if processes > 1:
            from commandline.validate.parallel import validate_files

            return validate_files(files, options, profile, processes)
        return _validate(read_files(files), options, profile)
    from commandline.kubeconfig import live_objects

    found = live_objects(options.kubeconfig, options.kube_context, profile, options.live_namespace)
    return _validate(found, options, profile)


def _validate(inputs: Iterable[Manifest | Result | Failure], options: Namespace, profile: Profile) -> Outcome:
    """Validate everything in this process."""
    batch, inventory = Batch(options, profile), Batch(options, profile)
    progress = Progress("documents read", shown=not options.quiet)
    batch.read(inputs, progress)
    progress.done()
    inventory.read_inventory(read_named("--inventory", options.inventory))
    batch.knowledge.add(inventory.knowledge.learnt())
    reviewer = reviewer_of(options, profile, batch.knowledge)
    stored = None
    if options.old:
        from commandline.stored import StoredObjects

        stored = reviewer.stored = StoredObjects(options.old, reviewer.server, options.namespace)
    progress = Progress("objects", len(batch.objects), shown=not options.quiet)
    batch.review(reviewer, progress)
    progress.done()
    if stored is not None:
        stored.insist_on_use()
    batch.outcome.failures += inventory.outcome.failures
    return batch.outcome


def _processes(options: Namespace, files: list[str | DocumentError]) -> int:
    """The number of processes: that of ``--jobs``, or what is fastest.

    Standard input can be read by one only, and with ``--old`` it must be known in one place which objects were used.
    """
    if len(files) < 2 or options.old or STANDARD_INPUT in files or not hasattr(os, "fork"):
        return 1
    if options.jobs:
        return min(int(options.jobs), len(files))
    if len(files) < MANY_FILES and sum(map(_size, files)) < MANY_BYTES:
        return 1
    from commandline.validate.processors import usable_processors

    return min(usable_processors(), MOST_PROCESSES, len(files))


def _size(file: str | DocumentError) -> int:
    try:
        return 0 if isinstance(file, DocumentError) else os.stat(file).st_size
    except (OSError, ValueError):  # the error will be reported when it is read
        return 0


def _report(outcome: Outcome, wanted: list[tuple[str, str]], options: Namespace) -> None:
    """Write each report to its file or standard output; if all go to files, the summary goes to stderr."""
    from commandline.reports import write
    from commandline.reports.text import summary

    to_stdout = [format for format, file in wanted if not file]
    for format, file in wanted:
        if not file:
            last = format == to_stdout[-1]  # two reports share one summary
            write(
                format,
                outcome,
                sys.stdout,
                color=is_colored(options.color, sys.stdout),
                show_all=options.show_all,
                with_summary=last and not options.quiet,
            )
            continue
        try:
            with open(file, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
                write(format, outcome, stream, show_all=options.show_all, with_summary=not options.quiet)
        except OSError as error:
            raise UsageError(f"cannot write {file}: {(error.strerror or str(error)).lower()}") from None
    if not to_stdout and not options.quiet:
        print(summary(outcome), file=sys.stderr)
