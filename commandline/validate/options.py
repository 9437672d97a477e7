"""The options of ``claimcheck validate``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from advice.findings import ERROR, NOTE, WARNING
from commandline.errors import UsageError
from commandline.options import (
    add_cluster,
    add_inventory,
    add_namespace_labels,
    add_paths,
    add_runtime_config,
    add_server_options,
    asks_for_cluster,
)
from commandline.reports import FORMATS, TOGETHER
from documents.source import STANDARD_INPUT

DESCRIPTION = (
    "Report what kube-apiserver would answer to `kubectl apply` of these manifests, and where to fix them."
)
EXAMPLES = """examples:
  claimcheck validate manifests/                    every YAML and JSON file in the directory and below
  helm template chart | claimcheck validate -       the output of another program
  claimcheck validate --kube-version 1.34 --feature-gates DRAAdminAccess=false manifests/
  claimcheck validate --old stored.yaml new.yaml    an update of an object saved with `kubectl get -o yaml`
  claimcheck validate -o text -o sarif=report.sarif manifests/
  claimcheck validate --inventory cluster/ claim.yaml
                                                    with the classes, slices, namespaces and nodes of a cluster
  claimcheck validate --live manifests/              as updates of what the cluster that kubectl asks has already
  claimcheck validate --live --kube-version 1.36    whether another release would accept a cluster's objects

A comment on a line, or alone on the line above, silences a lint:
  # claimcheck: ignore[CC001]

exit codes: 0 all objects are valid, 1 some are invalid, 2 some input could not be read
"""
MAX_JOBS = 64
#: What `--severity` can make of a lint.
LEVELS = (ERROR, WARNING, NOTE, "off")
#: Those of :mod:`cluster.patching`.
PATCH_TYPES = ("strategic", "merge", "json")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    add_paths(parser)
    parser.add_argument(
        "--as-found",
        action="store_true",
        help="treat named files as those found in a directory: skip files that have no object with apiVersion and kind; "
        "for tools that name every file",
    )
    _add_fix(parser)
    _add_helm(parser)
    server = parser.add_argument_group("the server to answer as")
    add_server_options(server, classic=True)
    add_runtime_config(server)
    _add_request(parser)
    _add_cluster(parser)
    _add_report(parser)
    parser.add_argument(
        "-j",
        "--jobs",
        type=int,
        metavar="N",
        help="number of processes; default: one per processor if there are many files, else 1",
    )


def _add_fix(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--fix",
        action="store_true",
        help="rewrite the files: make the changes of hints where there is but one way to fix a mistake, and report what is left",
    )


def _add_helm(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--helm",
        action="store_true",
        help="also validate what the helm that is installed makes of charts, with their own values",
    )
    parser.add_argument(
        "--kustomize",
        action="store_true",
        help="validate what the kustomize or kubectl that is installed makes of kustomizations, instead of the files that they "
        "name; without what they name elsewhere",
    )


def _add_request(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("the request")
    group.add_argument(
        "-n",
        "--namespace",
        metavar="NAMESPACE",
        help="namespace of objects that do not name one; others are refused, as by kubectl; with --live and no files: "
        "validate only this namespace and cluster-scoped objects; default: that of the context, else default",
    )
    group.add_argument(
        "--old", metavar="FILE", default="", help="the stored objects: validate updates of them"
    )
    sender = group.add_mutually_exclusive_group()
    sender.add_argument(
        "--create",
        action="store_true",
        help="as by kubectl create, which takes generateName and keeps no annotation of what was applied; default: as by "
        "kubectl apply",
    )
    sender.add_argument(
        "--as-sent",
        action="store_true",
        help="JSON is sent as it stands, as by curl; default: as by kubectl, which sorts the keys",
    )
    sender.add_argument(
        "--server-side",
        action="store_true",
        help="as by kubectl apply --server-side, which names fields that others manage; with --live, or --old FILE with what "
        "`kubectl get -o yaml --show-managed-fields` writes",
    )
    sender.add_argument(
        "-p",
        "--patch",
        "--patch-file",
        metavar="FILE",
        dest="patch",
        default="",
        help="as by kubectl patch: the objects of --old, or those that the files name, are patched",
    )
    group.add_argument(
        "--patch-type",
        choices=PATCH_TYPES,
        default="strategic",
        help="with --patch-file; default: strategic, as by kubectl",
    )
    group.add_argument(
        "--force-conflicts",
        action="store_true",
        help="with --server-side: take fields away from other managers",
    )
    group.add_argument(
        "--field-manager",
        metavar="NAME",
        default="",
        help="with --server-side: who applies; default: kubectl",
    )
    group.add_argument(
        "--subresource", choices=("status",), default="", help="with --old: validate updates of the status"
    )


def _add_cluster(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("the cluster")
    add_inventory(group, "objects that exist already; a directory or a file")
    add_namespace_labels(group)
    group.add_argument(
        "-A",
        "--all-namespaces",
        action="store_true",
        help="with --live and no files: the objects of all namespaces; default: those of one namespace if no more may be listed",
    )
    add_cluster(group, "check files against a live cluster, or without files its objects")


def _add_report(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("the report")
    group.add_argument(
        "-o",
        "--output",
        metavar="FORMAT[=FILE]",
        action="append",
        default=[],
        help=f"{', '.join(FORMATS)}; can be repeated, with a file for each, or text and github "
        "together; default: text",
    )
    group.add_argument(
        "--show-all",
        action="store_true",
        help="in text and github, show every finding; otherwise, of more than 3 that are alike but for values, "
        "the first with the number of the others, and in the summary all kinds that are skipped",
    )
    group.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="print findings only: no summary, no progress, and nothing if there is nothing to report",
    )
    group.add_argument("--no-lint", action="store_true", help="report only the server's answers, no lints")
    group.add_argument(
        "--notes",
        action="store_true",
        help="also report notes: common patterns that may be intended, such as look-ups without a guard",
    )
    group.add_argument(
        "--disable",
        metavar="CODE,…",
        action="append",
        default=[],
        help="leave out the lints with these codes, such as CC001; can be repeated",
    )
    group.add_argument(
        "--severity",
        metavar="CODE=LEVEL,…",
        default="",
        help=f"report lints as {', '.join(LEVELS)}, such as CC002=error,CC009=off; errors make the exit code 1",
    )
    group.add_argument(
        "--baseline",
        metavar="FILE",
        default="",
        help="leave out findings that are in this report, which -o json=FILE wrote earlier: only new ones are reported and "
        "count",
    )
    group.add_argument("--warnings-as-errors", action="store_true", help="exit with 1 for warnings too")
    group.add_argument(
        "--fail-on-empty",
        action="store_true",
        help="exit with 1 if the input has no object to validate, which otherwise is a warning",
    )
    group.add_argument(
        "--fail-on-skipped",
        action="store_true",
        help="exit with 1 if files that look like manifests are not read, such as hidden ones, which otherwise are notes",
    )


def check(options: Namespace) -> None:
    """Reject options that are missing or contradict each other, and fill in the namespace.

    :raises UsageError: with what to change.
    """
    _check_patches(options)
    if not options.paths and not asks_for_cluster(options) and not options.patch:
        raise UsageError("nothing to validate: name files or directories, - for standard input, or --live")
    if options.all_namespaces and (options.namespace or options.paths or not asks_for_cluster(options)):
        raise UsageError("--all-namespaces is for --live without files and without --namespace")
    if options.old and asks_for_cluster(options):
        raise UsageError(
            "--old and a live cluster: the cluster knows the stored objects; use only one of them"
        )
    if options.jobs is not None and not 1 <= options.jobs <= MAX_JOBS:
        raise UsageError(f"--jobs {options.jobs}: expected a number from 1 to {MAX_JOBS}")
    if options.fix and (not options.paths or options.old or options.patch):
        raise UsageError("--fix rewrites files: name them, without --old and --patch-file")
    if options.fix and STANDARD_INPUT in options.paths:
        raise UsageError("--fix needs files: standard input cannot be rewritten")
    if options.disable:
        from commandline.lint import known_codes

        options.disable = known_codes("--disable", options.disable)
    options.severity = severities(options.severity)
    if options.subresource and not options.old:
        raise UsageError(
            "--subresource status validates updates: it needs --old FILE with the stored objects"
        )


def _check_patches(options: Namespace) -> None:
    """Whether there is something to patch, or to apply with."""
    if options.patch.lstrip().startswith(("{", "[")):
        raise UsageError(
            "--patch-file names a file: write the JSON into one, or name - and write it to standard input"
        )
    if options.patch and not options.old and not (options.paths and asks_for_cluster(options)):
        raise UsageError(
            "--patch-file changes stored objects: name them with --old FILE, or in files with --live"
        )
    if options.patch_type != "strategic" and not options.patch:
        raise UsageError("--patch-type is about --patch-file")
    if "--server-side" not in options.configured and options.server_side and not options.paths:
        raise UsageError("--server-side is for files that are applied: name them")
    if not options.server_side and (options.force_conflicts or options.field_manager):
        raise UsageError("--force-conflicts and --field-manager are about --server-side")
    from resourceapi.names import field_manager

    for problem in field_manager(options.field_manager):
        raise UsageError(f"--field-manager: the server refuses this name: {problem.detail}")
    if options.subresource and (options.server_side or options.patch):
        raise UsageError(
            "--subresource status is for updates with the whole object, not with --server-side or --patch-file"
        )


def severities(given: str) -> dict[str, str]:
    """What ``--severity`` says: a severity, or "off", for codes of lints.

    :raises UsageError: for a code that no lint has, or another level.
    """
    found = {}
    for part in filter(None, map(str.strip, given.split(","))):
        code, _, level = (each.strip() for each in part.partition("="))
        from commandline.lint import known_codes

        known_codes("--severity", [code])
        level = "off" if level == "false" else level  # as YAML reads it
        if level not in LEVELS:
            raise UsageError(f"--severity {part}: expected {code}= with one of {', '.join(LEVELS)}")
        found[code] = level
    return found


def outputs(given: list[str]) -> list[tuple[str, str]]:
    """The reports to write, as format and file (empty: standard output).

    :raises UsageError: for an unknown format, or two reports in one place.
    """
    wanted: list[tuple[str, str]] = []
    for value in given or ["text"]:
        format, equals, file = value.partition("=")
        if format not in FORMATS or (equals and not file):
            raise UsageError(
                f"--output {value}: expected FORMAT or FORMAT=FILE with one of {', '.join(FORMATS)}"
            )
        beside = {other for other, place in wanted if place == file}
        if beside and (file or format in beside or not TOGETHER.issuperset((format, *beside))):
            raise UsageError(f"--output {value}: {_cannot_share(file)}")
        wanted.append((format, file))
    return wanted


def _cannot_share(file: str) -> str:
    if file:
        return f"two reports cannot go to {file}"
    return "two reports cannot go to standard output, except one of text and one of github"
