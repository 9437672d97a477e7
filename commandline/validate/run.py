"""Runs ``claimcheck validate``: reviews every object of the input, and writes the reports."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from advice.findings import NOTE
from claimcheck.answers.outcome import Outcome, Unread
from claimcheck.answers.reading import Input, Text, read_files
from claimcheck.answers.validate.sending import SERVER_SIDE
from commandline.errors import NEGATIVE, SUCCESS, UNFINISHED, UsageError
from commandline.options import asks_for_cluster, names_cluster, profile_of, settle_namespace
from commandline.reading import find_and_render, insist_on_one_reader, read
from commandline.reports.escaping import complain
from commandline.terminal import Progress, is_colored
from commandline.validate.request import batch_of, existing, reviewer_of
from documents.errors import DocumentError
from documents.source import STANDARD_INPUT
from resourceapi.phrases import number

if TYPE_CHECKING:
    from argparse import Namespace

    from advice.findings import Result
    from claimcheck.answers.live_cluster import LiveCluster
    from claimcheck.answers.outcome import Failure
    from claimcheck.answers.validate.live_checks import LiveChecks
    from documents.manifest import Manifest
    from resourceapi.releases import Profile

MANY_FILES = 200
MANY_BYTES = 1_000_000
"""From this much input on, several processes are faster than one."""

MOST_PROCESSES = 8
"""The most processes that are used without ``--jobs``."""

_EMPTY = "claimcheck: nothing was validated: the {} has no objects of resource.k8s.io, pods or workloads"
_NO_MANAGERS = "no managedFields in {}: conflicts cannot be told; save it with --show-managed-fields"


def run(options: Namespace) -> int:
    """Validate the objects that the options name, and write the reports.

    :raises UsageError: for options that contradict each other.
    """
    from commandline.validate.options import check, outputs

    check(options)
    wanted = outputs(options.output)
    baseline = None
    if options.baseline:
        from commandline.validate.baseline import read_baseline

        baseline = read_baseline(options.baseline)
    if options.fix:
        from commandline.validate.fixing import fix

        fix(options, validate)
    outcome = validate(options)
    if baseline is not None:
        baseline.leave_out(outcome)
        told = f"{number(baseline.left_out, 'finding')} of {options.baseline} left out"
        # whoever proposes a change can change the file, and ask for quiet
        insists = options.fail_on_skipped and baseline.left_out > 0
        outcome.remarks += [(NOTE, told)] if insists else []
        if insists or not options.quiet:
            are = "is" if baseline.gone == 1 else "are"
            gone = (
                f"; {number(baseline.gone, 'other')} of it {are} gone: write it anew" if baseline.gone else ""
            )
            complain(f"claimcheck: {told}{gone}")
    _report(outcome, wanted, options)
    if outcome.is_empty and (options.fail_on_empty or not options.quiet):
        complain(_EMPTY.format("cluster" if names_cluster(options) and not options.paths else "input"))
    if not outcome.failures and outcome.skipped_files_alone_fail:
        files = number(len(outcome.skipped_files), "file")
        complain(f"claimcheck: the exit code is 1 because of --fail-on-skipped: {files} not read")
    if outcome.failures:
        return UNFINISHED
    return NEGATIVE if outcome.is_negative else SUCCESS


def validate(options: Namespace) -> Outcome:
    """Validate the objects that the options name.

    Everything is read before the first review, as objects may depend on later ones.
    """
    cluster = _cluster(options)
    profile = profile_of(options, apis=options.runtime_config or "", classic=True)
    insist_on_one_reader(options.paths, options.inventory, [options.old])
    unread = Outcome()
    outcome = _validate_all(cluster, options, profile, unread)
    outcome.add(unread)
    outcome.warnings_fail, outcome.empty_fails = options.warnings_as_errors, options.fail_on_empty
    outcome.skipped_files_fail = options.fail_on_skipped
    return outcome


def _validate_all(
    cluster: LiveCluster | None, options: Namespace, profile: Profile, unread: Outcome
) -> Outcome:
    """Validate what the options name; ``unread`` gets what is not read of it."""
    if cluster is None:
        files: list[Input] = find_and_render(options, profile, unread) if options.paths else [options.old]
        processes = _processes(options, files)
        if processes > 1:
            from commandline.validate.parallel import validate_files

            return validate_files(files, options, profile, processes)
        return _validate(read_files(files, profile), options, profile)
    if not options.paths:
        fallback = "" if options.all_namespaces else options.namespace
        found = cluster.objects(profile, options.namespace_given, at_least=fallback)
        return _validate(found, options, profile)
    from claimcheck.answers.validate.live_checks import LiveChecks

    checks = LiveChecks(cluster, profile, options.namespace)
    return _validate(read_files(find_and_render(options, profile, unread), profile), options, profile, checks)


def _cluster(options: Namespace) -> LiveCluster | None:
    """The live cluster, if the options ask for one; the namespace, the release and its versions are known then."""
    if not asks_for_cluster(options):
        settle_namespace(options)
        return None
    from commandline.live_cluster import cluster_of

    as_it_is = not options.kube_version
    cluster = cluster_of(options, classic=True)
    if as_it_is and options.runtime_config is None:
        options.runtime_config = cluster.runtime_config(options.kube_version)
    return cluster


def _validate(
    inputs: Iterable[Manifest | Result | Failure],
    options: Namespace,
    profile: Profile,
    checks: LiveChecks | None = None,
) -> Outcome:
    """Validate everything in this process.

    :param checks: the live cluster that files are checked against.
    """
    batch, inventory = batch_of(options, profile), batch_of(options, profile)
    progress = Progress("documents read", shown=not options.quiet)
    batch.read(inputs, progress.step)
    progress.done()
    if checks is not None:
        inventory.read_inventory(checks.objects(batch.namespaces_of_users()))
        if checks.failures:  # the cluster does not answer: nothing is known of any file
            inventory.outcome.failures += checks.failures
            return inventory.outcome
    inventory.read_inventory(existing(options, profile))
    unread = {
        failure.kind: {failure.read_namespace}.difference({""})
        for failure in batch.outcome.failures
        if isinstance(failure, Unread)
    }
    batch.know(inventory, unread if checks is None else checks.unread)
    reviewer = reviewer_of(options, profile, batch.knowledge, checks)
    stored = None
    if options.old:
        from claimcheck.answers.stored import StoredObjects

        found = read([options.old])
        stored = StoredObjects(found, reviewer.server, options.namespace, f"--old {options.old}")
        reviewer.stored = stored
    progress = Progress("objects", len(batch.objects), shown=not options.quiet)
    try:
        batch.review(reviewer, progress.step)
    finally:
        progress.done()
    is_applied = reviewer.question.sender == SERVER_SIDE and not options.force_conflicts
    if stored is not None and is_applied and not stored.has_managers:
        complain(f"claimcheck: {_NO_MANAGERS.format(options.old)}")
    batch.outcome.failures += inventory.outcome.failures
    if checks is not None:
        batch.outcome.failures += checks.failures
    return batch.outcome


def _processes(options: Namespace, files: list[Input]) -> int:
    """The number of processes: that of ``--jobs``, or what is fastest.

    Standard input can be read by one only, and with ``--old`` it must be known in one place which objects were used.
    """
    if len(files) < 2 or options.old or STANDARD_INPUT in files or not hasattr(os, "fork"):
        return 1
    if options.jobs:
        return min(int(options.jobs), len(files))
    if len(files) < MANY_FILES and sum(map(_size, files)) < MANY_BYTES:
        return 1
    from commandline.validate.workers import usable_processors

    return min(usable_processors(), MOST_PROCESSES, len(files))


def _size(file: Input) -> int:
    if isinstance(file, Text):
        return len(file.content)
    try:
        return 0 if isinstance(file, DocumentError) else os.stat(file).st_size
    except (OSError, ValueError):  # the error will be reported when it is read
        return 0


def _open(file: str, flags: int) -> int:
    """Open a report's file, but not what a link there leads to: in a stranger's repository that may be anything."""
    if not file.startswith(("/dev/", "/proc/")):
        flags |= getattr(os, "O_NOFOLLOW", 0)
    try:
        return os.open(file, flags, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            error.strerror = "it is a symbolic link"
        raise


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
            with open(
                file, "w", encoding="utf-8", errors="backslashreplace", newline="\n", opener=_open
            ) as stream:
                write(format, outcome, stream, show_all=options.show_all, with_summary=not options.quiet)
        except OSError as error:
            raise UsageError(f"cannot write {file}: {(error.strerror or str(error)).lower()}") from None
    if not to_stdout and not options.quiet:
        print(summary(outcome, show_all=options.show_all), file=sys.stderr)
