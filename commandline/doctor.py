"""``claimcheck doctor``: what is wrong in a cluster, worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.errors import NEGATIVE, SUCCESS, UNFINISHED, UsageError
from commandline.options import HTML, add_cluster, add_inventory, add_output, add_server_options
from commandline.scenario import add_timeout

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from claimcheck.answers.doctor.examination import Examination

DESCRIPTION = (
    "Look for everything that is wrong with the devices of a cluster: pods that wait and why, claims that keep devices for nobody, "
    "pools, classes, patches and taint rules that have no effect. What has the same cause is one finding."
)
EXAMPLES = """examples:
  claimcheck doctor                                 the cluster that kubectl asks
  claimcheck doctor -n team                         pods and claims of one namespace
  claimcheck doctor --inventory cluster.yaml        the objects in this file
  claimcheck doctor --disable CD008 -o json         for programs, without a check
  claimcheck doctor -o github                       annotations of a workflow
  claimcheck lint CD010                             what a finding means, and what to do
  kubectl annotate resourceclaim shared claimcheck.example.com/ignore=CD002

Pods are placed together, as claimcheck simulate does: those that wait although there is room for them are no finding, since
kube-scheduler has not come to them yet. Pools that a driver is just updating are incomplete for a moment: look again.

exit codes: 0 nothing worse than a note, 1 errors, or warnings with --warnings-as-errors, 2 some input could not be read or looked at
"""
TEXT, JSON, YAML, SARIF, GITHUB = "text", "json", "yaml", "sarif", "github"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    add_inventory(
        parser,
        "the cluster's objects, in any version, Pods and Nodes included; a directory or a file",
    )
    add_cluster(parser, "read the cluster's objects from a live cluster, as without --inventory")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "-n", "--namespace", metavar="NAMESPACE", help="only pods and claims of this namespace"
    )
    where.add_argument(
        "-A", "--all-namespaces", action="store_true", help="those of all namespaces, as without --namespace"
    )
    parser.add_argument(
        "--disable",
        metavar="CODE,…",
        action="append",
        default=[],
        help="leave out the checks with these codes, such as CD008; can be repeated",
    )
    parser.add_argument("--warnings-as-errors", action="store_true", help="exit with 1 for warnings too")
    add_timeout(parser, "everything")
    add_server_options(parser)
    add_output(parser, (TEXT, JSON, YAML, SARIF, GITHUB, HTML))


def run(options: Namespace) -> int:
    """Examine the cluster, and write what is wrong with it.

    :raises UsageError: for options that contradict each other, or a check that does not exist.
    """
    from allocator.time_limit import OutOfTime, TimeLimit
    from claimcheck.answers.doctor.examination import examine
    from claimcheck.answers.doctor.examined import Examined
    from commandline.lint import known_codes
    from commandline.live_cluster import cluster_or_inventory
    from commandline.options import profile_of
    from commandline.scenario import read_cluster, slow_patches

    disabled = known_codes("--disable", options.disable)
    namespace = options.namespace or ""
    options.live |= not options.inventory
    cluster = cluster_or_inventory(options)
    state, manifests = read_cluster(options, cluster, profile_of(options))
    try:
        examined = Examined(state, manifests, namespace, TimeLimit(options.timeout), disabled)
    except OutOfTime:
        raise UsageError(slow_patches(options.timeout)) from None
    answer = examine(examined)
    _write(options, answer, options.inventory[0] if options.inventory else "")
    if not answer.is_complete:
        return UNFINISHED
    return NEGATIVE if answer.fails(warnings_fail=options.warnings_as_errors) else SUCCESS


def _write(options: Namespace, answer: Examination, source: str) -> None:
    import sys

    from commandline import doctor_report, reports
    from commandline.doctor_page import write_html
    from commandline.reports.writing import write_answer

    if options.output in (SARIF, GITHUB):
        reports.write(options.output, doctor_report.outcome(answer, source), sys.stdout, with_summary=False)
    else:
        write_answer(
            options, answer, lines=doctor_report.lines, document=doctor_report.document, page=write_html
        )
