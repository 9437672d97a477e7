"""The options of ``claimcheck validate``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from commandline.errors import UsageError
from commandline.options import add_server_options
from commandline.reports import FORMATS

DESCRIPTION = (
    "Say what kube-apiserver would answer to `kubectl apply` of these manifests, and where to mend them."
)
EXAMPLES = """examples:
  claimcheck validate manifests/                    every YAML and JSON file below the directory
  helm template chart | claimcheck validate -       what another program writes
  claimcheck validate --kube-version 1.34 --feature-gates DRAAdminAccess=false manifests/
  claimcheck validate --old stored.yaml new.yaml    an update of what `kubectl get -o yaml` wrote
  claimcheck validate -o text -o sarif=report.sarif manifests/
  claimcheck validate --inventory cluster/ claim.yaml
                                                    with the classes, slices, namespaces and nodes of a cluster
  claimcheck validate --kubeconfig ~/.kube/config --kube-version 1.36
                                                    what a cluster's own objects would meet in another release

A lint is silenced by a comment on its line, or alone on the line above: # claimcheck: ignore[CC001]

exit codes: 0 all objects are valid, 1 some are not, 2 some of the work could not be done
"""
MOST_JOBS = 64


def describe(parser: ArgumentParser) -> None:
    """Give a parser the options of the subcommand."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument(
        "paths", nargs="*", metavar="FILE|DIR|-", help="manifests: YAML or JSON; - is standard input"
    )
    _add_server(parser)
    _add_request(parser)
    _add_context(parser)
    _add_report(parser)
    parser.add_argument(
        "-j",
        "--jobs",
        type=int,
        metavar="N",
        help="processes that share the files; default: one per processor if there are many files; 1: no others",
    )


def _add_server(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("the server to answer as")
    add_server_options(group)


def _add_request(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("the request")
    group.add_argument(
        "-n",
        "--namespace",
        help="of objects that name none; default: default; with --kubeconfig: only what is in it, or in none",
    )
    group.add_argument(
        "--old", metavar="FILE", default="", help="objects as stored: validate updates of them"
    )
    group.add_argument(
        "--subresource", choices=("status",), default="", help="with --old: validate updates of the status"
    )


def _add_context(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("what else is there")
    group.add_argument(
        "--inventory",
        metavar="DIR",
        action="append",
        default=[],
        help="objects that are there already (or a file)",
    )
    group.add_argument(
        "--namespace-labels",
        metavar="[NAMESPACE:]K=V,…",
        action="append",
        default=[],
        help="labels of one namespace, or of all",
    )
    group.add_argument(
        "--kubeconfig", metavar="FILE", help="validate the live objects of this cluster instead of files"
    )
    group.add_argument(
        "--context", dest="kube_context", metavar="NAME", default="", help="the context in --kubeconfig"
    )


def _add_report(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("the report")
    group.add_argument(
        "-o",
        "--output",
        metavar="FORMAT[=FILE]",
        action="append",
        default=[],
        help=f"{', '.join(FORMATS)}; can be repeated; default: text",
    )
    group.add_argument("--no-lint", action="store_true", help="only what the server says, no lints")
    group.add_argument(
        "--notes",
        action="store_true",
        help="also say what is usual and may be right: look-ups without a guard",
    )
    group.add_argument("--warnings-as-errors", action="store_true", help="exit with 1 also for warnings")


def check(options: Namespace) -> None:
    """:raises UsageError: for options that are missing or make no sense together."""
    if options.kubeconfig is not None and options.paths:
        raise UsageError("--kubeconfig validates the objects of a cluster: give either it or files")
    if options.kubeconfig is None and not options.paths:
        raise UsageError("nothing to validate: name files or directories, or - for standard input")
    if options.kubeconfig is None and options.kube_context:
        raise UsageError("--context names a context of the file in --kubeconfig, which is not given")
    options.live_namespace = options.namespace or ""
    options.namespace = options.namespace or "default"
    if options.jobs is not None and not 1 <= options.jobs <= MOST_JOBS:
        raise UsageError(f"--jobs {options.jobs}: expected a number from 1 to {MOST_JOBS}")
    if options.subresource and not options.old:
        raise UsageError(
            "--subresource status validates updates: it needs --old FILE with the stored objects"
        )


def outputs(given: list[str]) -> list[tuple[str, str]]:
    """The reports that are asked for, as format and file (empty: standard output).

    :raises UsageError: for an unknown format, or two reports in one place.
    """
    wanted: list[tuple[str, str]] = []
    for text in given or ["text"]:
        format, equals, file = text.partition("=")
        if format not in FORMATS or (equals and not file):
            raise UsageError(
                f"--output {text}: expected FORMAT or FORMAT=FILE with one of {', '.join(FORMATS)}"
            )
        if any(file == other for _, other in wanted):
            raise UsageError(f"--output {text}: two reports cannot go to {file or 'standard output'}")
        wanted.append((format, file))
    return wanted
