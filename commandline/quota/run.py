"""Runs ``claimcheck quota``: charges claims and pods to quotas, and writes what they count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.exit_codes import NEGATIVE, SUCCESS, UNFINISHED

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable

    from advice.findings import Result
    from claimcheck.answers.outcome import Failure
    from documents.manifest import Manifest


def run(options: Namespace) -> int:
    """Charge everything that the options name, and write the answer.

    :raises UsageError: for a release or gates that do not exist.
    """
    from claimcheck.answers.quota import charge, charging_objects
    from commandline.chosen_cluster import cluster_or_inventory
    from commandline.namespace_labels import context_of
    from commandline.options import insist_on_paths, profile_of
    from commandline.quota import json_report, text_report
    from commandline.reading import insist_on_one_reader, read_named
    from commandline.reports.writing import write_answer

    insist_on_paths(options)
    cluster = cluster_or_inventory(options)
    profile = profile_of(options)
    insist_on_one_reader(options.paths, options.inventory, options.quota)
    context = context_of(options.namespace_labels)
    new = _new(options)
    if cluster is None:
        existing = read_named("--inventory", options.inventory)
    else:
        existing = charging_objects(cluster, profile, _namespaces(new, options))
    quotas = read_named("--quota", options.quota)
    answer = charge(new, existing, quotas, context, profile, options.namespace, is_live=cluster is not None)
    write_answer(options, answer, lines=text_report.lines, document=json_report.document)
    if answer.failures:
        return UNFINISHED
    return NEGATIVE if any(statement.problems for statement in answer.account.statements) else SUCCESS


def _new(options: Namespace) -> list[Manifest | Result | Failure]:
    """What the files contain."""
    from claimcheck.answers.namespaces import in_namespace
    from claimcheck.answers.reading import read_files
    from commandline.reading import find

    return list(in_namespace(read_files(find(options)), options.namespace_given))


def _namespaces(given: Iterable[Manifest | Result | Failure], options: Namespace) -> list[str]:
    """The namespaces of the objects in files."""
    from resourceapi.manifests import namespace_of

    values = [value for each in given if isinstance(value := getattr(each, "value", None), dict)]
    return list(dict.fromkeys(namespace_of(value, options.namespace) for value in values)) or [
        options.namespace
    ]
