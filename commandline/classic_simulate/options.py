"""The options of ``claimcheck classic-simulate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.options import DEFAULT_NAMESPACE, add_output, add_paths, describe
from commandline.scenario import add_timeout

if TYPE_CHECKING:
    from argparse import ArgumentParser

DESCRIPTION = (
    "Show the negotiation of kube-scheduler 1.30 with the drivers of classic DRA (resource.k8s.io/v1alpha2), step by step: "
    "what each attempt to schedule a pod decides and why, and who writes which field of which object. No cluster is needed, "
    "and time is virtual."
)
EXAMPLES = """examples:
  claimcheck classic-simulate --scenario best-case             the pod is bound in its second attempt
  claimcheck classic-simulate --scenario claim-deallocated     the node is filled, and the claim is deallocated
  claimcheck classic-simulate --scenario slow-driver --print-scenario > mine.yaml
                                                               a scenario to change
  claimcheck classic-simulate mine.yaml
  claimcheck classic-simulate class.yaml template.yaml pod.yaml nodes.yaml -o json

Files have Nodes, ResourceClasses, ResourceClaims, ResourceClaimTemplates and Pods, and may have the objects that parametersRef
refers to: a count in them is the number of devices that a claim asks for. Without Nodes there are three. A driver has one
device on each node and answers at once, unless a document of the kind ClassicScenario says otherwise.

exit codes: 0 all pods are bound, 1 some are not, 2 some input could not be read, or the simulation took too long
"""
#: As in classic.simulation.scenario, which is not loaded for --help.
SCENARIOS = ("best-case", "slow-driver", "unsuitable-node", "node-filled", "claim-deallocated")
FORMATS = ("text", "json", "yaml")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    describe(parser, DESCRIPTION, EXAMPLES)
    add_paths(parser, "objects of v1alpha2, Nodes, Pods, and a ClassicScenario")
    parser.add_argument(
        "--scenario", choices=SCENARIOS, help="a scenario that comes with claimcheck, instead of files"
    )
    parser.add_argument(
        "--print-scenario", action="store_true", help="print the documents of --scenario, to be changed"
    )
    parser.add_argument(
        "-n",
        "--namespace",
        metavar="NAMESPACE",
        default=DEFAULT_NAMESPACE,
        help=f"namespace of objects that do not name one; default: {DEFAULT_NAMESPACE}",
    )
    add_timeout(parser, "the simulation, in real time")
    add_output(parser, FORMATS)
