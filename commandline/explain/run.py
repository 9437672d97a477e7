"""``claimcheck explain``: why pods and claims get no devices, and what would help; or where they fit."""

from __future__ import annotations

import sys
from argparse import RawDescriptionHelpFormatter
from typing import TYPE_CHECKING

from commandline.errors import UsageError
from commandline.scenario import add_situation_options, read_situation

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from commandline.explain.explanations import Explained

DESCRIPTION = "Say where pods and claims would get their devices, or why they get none and what would help."
EXAMPLES = """examples:
  claimcheck explain -f pod.yaml --inventory cluster/          with the objects in these files
  claimcheck explain -f claim.yaml --kubeconfig ~/.kube/config with those of a live cluster
  claimcheck explain -f deployment.yaml templates.yaml --inventory cluster.yaml --node gpu-7
  kubectl get resourceslices,deviceclasses,resourceclaims,resourceclaimtemplates,devicetaintrules,nodes,namespaces \\
      -A -o yaml > cluster.yaml                                (without devicetaintrules before 1.37)

Every request is followed through the rules on every node: how many devices there are, and how many are left after class,
selectors, taints, allocations, capacity, counters, compatibility groups. Then come the demands that cannot be met
together, and changes that would make the pod fit, each tried out before it is shown. CPU, memory and what else pods need
beside devices is not looked at, but the pod's nodeSelector, required node affinity and tolerations are.

exit codes: 0 all fit, 1 some do not, 2 some of the work could not be done
"""
FORMATS = ("text", "json")


def add_arguments(parser: ArgumentParser) -> None:
    """Give a parser the options of the subcommand."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.formatter_class = RawDescriptionHelpFormatter
    add_situation_options(parser, "pods, workloads, claims or templates to explain, and what they refer to")
    parser.add_argument("--node", metavar="NAME", default="", help="only look at this node")
    parser.add_argument("-o", "--output", choices=FORMATS, default="text", help="default: text")


def run(options: Namespace) -> int:
    """Explain what the files ask for.

    :raises UsageError: for options that make no sense, or nothing to explain.
    """
    from commandline.explain import json_report as explain_json
    from commandline.explain import text_report as explain_text
    from commandline.explain.explanations import explain_all

    situation = read_situation(options)
    if options.node and options.node not in situation.world.nodes:
        raise UsageError(f"--node {options.node}: there is no such node")
    explained: list[Explained] = explain_all(situation, options.node)
    write = explain_json.write if options.output == "json" else explain_text.write
    write(explained, situation.failures, sys.stdout)
    return _exit_code(explained, bool(situation.failures))


def _exit_code(explained: list[Explained], failures: bool) -> int:
    if failures or any(each.unanswered for each in explained):
        return 2
    return 0 if all(each.fits for each in explained) else 1
