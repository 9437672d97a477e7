"""The options of ``claimcheck simulate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.errors import UsageError
from commandline.options import FORMATS, HTML, add_output
from commandline.scenario import add_scenario_options, add_timeout

if TYPE_CHECKING:
    from argparse import ArgumentParser

DESCRIPTION = "Schedule pods one after the other and report where they are placed, what is left, and how fragmented it is."
EXAMPLES = """examples:
  claimcheck simulate -f pods/ --inventory cluster/                 in the order of the files
  claimcheck simulate -f pods/ --inventory cluster/ --compare kube-scheduler,best-fit
  claimcheck simulate -f pods/ --inventory cluster/ --batch         in an order that places as many as possible
  claimcheck simulate -f pods/ --inventory cluster/ --node-template a100-node.yaml --node-template l4-node.yaml
                                                                    which new nodes would place them, and how many
  claimcheck simulate -A                                            all pods of the cluster that wait for a node
  claimcheck simulate -f pods/ --live                               in the cluster that kubectl asks

A Deployment or Job counts as its number of pods. kube-scheduler chooses the node with the highest score, as kube-scheduler
does: by preferred alternatives (firstAvailable), CPU and memory, node affinity and taints. first-fit takes the first node of
the inventory that fits. best-fit chooses the node and devices that waste least, but never a less preferred alternative. A node
template is a file with a Node and its ResourceSlices; pods that fit on no existing node get new nodes of that kind.

If kube-scheduler looks at a node with an error, the pod stays pending even if it fits elsewhere. A pod with spec.nodeName
and claims that are not allocated stays pending too. A pod that cannot be decided within 20 s is skipped.

exit codes: 0 all pods are placed, 1 some are not, 2 some input could not be read, or not decided in time
"""
OBJECTIVES = ("kube-scheduler", "first-fit", "best-fit")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    add_scenario_options(parser, "pods, workloads and claims to place, and what they refer to")
    parser.add_argument(
        "--compare",
        metavar="OBJECTIVE,…",
        default=OBJECTIVES[0],
        help=f"{', '.join(OBJECTIVES)}, or several of them; the first is reported in full; default: {OBJECTIVES[0]}",
    )
    parser.add_argument(
        "--batch", action="store_true", help="also place the whole list in the order that places most pods"
    )
    parser.add_argument(
        "--node-template",
        metavar="FILE",
        action="append",
        default=[],
        help="a Node and its ResourceSlices, as a new node would have them; can be repeated",
    )
    add_timeout(parser, "all pods, objectives and new nodes")
    add_output(parser, (*FORMATS, HTML))


def objectives(given: str) -> list[str]:
    """The objectives in a value of ``--compare``.

    :raises UsageError: for one that does not exist.
    """
    names = list(dict.fromkeys(given.split(",")))
    if not set(names) <= set(OBJECTIVES):
        raise UsageError(f"--compare {given}: expected {', '.join(OBJECTIVES)}, or several with commas")
    return names
