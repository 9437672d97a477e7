"""The options of ``claimcheck explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.options import FORMATS, HTML, add_output
from commandline.scenario import add_scenario_options, add_timeout

if TYPE_CHECKING:
    from argparse import ArgumentParser

DESCRIPTION = (
    "Explain where pods and claims would get their devices, or why they get none and what would help."
)
EXAMPLES = """examples:
  claimcheck explain -f pod.yaml --inventory cluster/           with the objects in these files
  claimcheck explain pod/train -n team                          a pod of the cluster that kubectl asks
  claimcheck explain pods -n team                               all pods of a namespace that wait; -A: of all namespaces
  claimcheck explain -f claim.yaml --live                       a file, with the objects of that cluster
  claimcheck explain -f deployment.yaml templates.yaml --inventory cluster.yaml --node gpu-7
  kubectl get resourceslices,deviceclasses,resourceclaims,resourceclaimtemplates,devicetaintrules,nodes,pods,namespaces \\
      -A -o yaml > cluster.yaml                                 (without devicetaintrules before 1.37)

For each request and node, the report counts the devices that remain after the class, selectors, taints, allocations,
capacity, counters and compatibility groups. Above that are changes that would make the pod fit, each of which has been tried,
and who holds the devices that it needs; below, the requirements that conflict. Of the pod, its nodeSelector, required node
affinity, tolerations and requests for CPU, memory and other resources of nodes are taken into account; affinity to other
pods, topology spread, ports and volumes are not.

exit codes: 0 all fit, 1 some do not, 2 some input could not be read or decided
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    add_scenario_options(parser, "pods, workloads, claims or templates to explain, and what they refer to")
    parser.add_argument("--node", metavar="NAME", default="", help="consider only this node")
    add_timeout(parser, "all pods; each takes 20 s at most")
    add_output(parser, (*FORMATS, HTML))
