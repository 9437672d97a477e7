"""The subcommands of ``claimcheck``: their names, summaries and parsers."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from commandline.parser import Parser

SERVE = "serve"
#: The subcommands with their summaries, as ``--help`` groups them. The module of each has ``add_arguments``, the texts above and
#: below the options in its help, and ``run``; where it is a package, they are in its modules ``options`` and ``run``.
GROUPS = {
    "manifests": {
        "validate": "report what kube-apiserver would answer to manifests",
        "convert": "rewrite manifests in another API version",
        "migrate": "rewrite manifests of classic DRA (v1alpha2) for the API of today",
        "cel": "check a CEL expression, its cost and its results on devices",
        "quota": "show what claims count against ResourceQuotas, and whether they fit",
    },
    "scheduling": {
        "doctor": "show what is wrong in a cluster: pods that wait, devices that are lost, what has no effect",
        "ui": "show devices, who holds them and why pods wait, on a page in the browser",
        "impact": "show what a change would do to a cluster's pods, claims and devices, before it is made",
        "devices": "list devices with what they say, who says it, and who uses them",
        "explain": "explain why pods and claims get no devices, and what would help",
        "simulate": "show where pods would be placed, what is left, and which new nodes they need",
        "classic-simulate": "show how kube-scheduler 1.30 and classic drivers come to an agreement about a pod",
    },
    "services": {
        "schedule": "give devices to the claims of pods, as the extender of a kube-scheduler",
        "watch": "tell in events why pods wait for devices, beside any kube-scheduler",
        SERVE: "serve admission and conversion webhooks for kube-apiserver",
        "classic-driver": "run an example of a classic DRA driver, for clusters of Kubernetes 1.30",
        "inject-ca": "keep the webhooks' certificate authority up to date in webhook configurations and CRDs",
        "manifests": "print the manifests that deploy the webhooks, the scheduler or the classic driver",
        "migrate-storage": "move a cluster's DRA objects when CRDs start or stop serving them",
    },
    "about claimcheck": {
        "completion": "print a script with which bash, zsh or fish completes commands",
        "lint": "explain what a code means that validate or doctor reports",
        "help": "show how to use a command",
        "version": "print the version, and the Kubernetes releases that it knows",
    },
}
SUBCOMMANDS = {name: summary for group in GROUPS.values() for name, summary in group.items()}
#: The subcommands of which :mod:`commandline.config_file` can set options.
CONFIGURABLE = (*GROUPS["manifests"], *GROUPS["scheduling"])
ABOUT = "Check Kubernetes DRA objects, and answer questions about them, before they reach the cluster."
#: What the scripts of `claimcheck completion` run.
COMPLETE = "__complete"
#: The plugin's executable, which kubectl finds by its name.
_PLUGIN = "kubectl-claimcheck"


def program() -> str:
    """What users type to run this: ``claimcheck``, or ``kubectl claimcheck``."""
    executable = os.path.basename(sys.argv[0]) if sys.argv else ""
    return "kubectl claimcheck" if executable.partition(".")[0] == _PLUGIN else "claimcheck"


def module_of(subcommand: str, name: str) -> ModuleType:
    """The module of a subcommand, or that of this name in its package; loaded only when needed, for a fast start."""
    from importlib import import_module

    module = import_module(f"commandline.{subcommand.replace('-', '_')}")
    return import_module(f"{module.__name__}.{name}") if hasattr(module, "__path__") else module


def parser_of(subcommand: str) -> Parser:
    """The parser of a subcommand's arguments."""
    from commandline.config_file import SETTINGS
    from commandline.options import add_color, add_config
    from commandline.parser import Parser

    parser = Parser(program(), subcommand, _subcommands_with)
    module = module_of(subcommand, "options")
    parser.description, parser.epilog = module.DESCRIPTION, module.EXAMPLES
    module.add_arguments(parser)
    add_color(parser)
    if subcommand in CONFIGURABLE:
        add_config(parser)
        parser.make_configurable(SETTINGS)
    return parser


def _subcommands_with(option: str) -> list[str]:
    return [name for name in SUBCOMMANDS if option in parser_of(name).option_names()]
