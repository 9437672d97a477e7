"""``claimcheck quota``: what claims count against quotas, request by request, and whether they fit."""

from __future__ import annotations

import sys
from argparse import RawDescriptionHelpFormatter
from typing import TYPE_CHECKING

from commandline.options import add_server_options, profile_of

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from commandline.quota.account import Account

DESCRIPTION = "Show what claims count against ResourceQuotas, every alternative included, and what is left."
EXAMPLES = """examples:
  claimcheck quota claim.yaml                          what each request and alternative counts
  claimcheck quota --quota quota.yaml manifests/       whether the claims fit, in the order of the files
  claimcheck quota --inventory cluster/ claim.yaml     with the quotas, classes and claims of a cluster

A claim counts, for each device class, the largest number among the alternatives of a request, and the sum over its
requests. Claims made from templates count when a Pod, Deployment, StatefulSet, ... of the files uses the template.

exit codes: 0 all fits, 1 something does not fit or is invalid, 2 some of the work could not be done
"""
FORMATS = ("text", "json")


def add_arguments(parser: ArgumentParser) -> None:
    """Give a parser the options of the subcommand."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.add_argument(
        "paths", nargs="+", metavar="FILE|DIR|-", help="manifests: YAML or JSON; - is standard input"
    )
    parser.add_argument(
        "--quota",
        metavar="FILE",
        action="append",
        default=[],
        help="ResourceQuotas; also read from the manifests",
    )
    parser.add_argument(
        "--inventory",
        metavar="DIR",
        action="append",
        default=[],
        help="objects that are there already (or a file): claims and pods in it are charged first",
    )
    parser.add_argument(
        "-n", "--namespace", default="default", help="of objects that name none; default: default"
    )
    parser.add_argument(
        "--namespace-labels",
        metavar="[NAMESPACE:]K=V,…",
        action="append",
        default=[],
        help="labels of one namespace, or of all",
    )
    add_server_options(parser)
    parser.add_argument("-o", "--output", choices=FORMATS, default="text", help="default: text")


def run(options: Namespace) -> int:
    """Show the account.

    :raises UsageError: for a release or gates that do not exist.
    """
    from commandline.quota import reports as quota_report

    account = make(options)
    (quota_report.write_json if options.output == "json" else quota_report.write_text)(account, sys.stdout)
    if account.inventory.failures:
        return 2
    return 1 if any(statement.problems for statement in account.statements) else 0


def make(options: Namespace) -> Account:
    """The account of everything that the options name."""
    from commandline.context import Context
    from commandline.quota.account import Account
    from commandline.quota.inventory import Inventory
    from commandline.reading import insist_on_one_reader, read, read_named
    from validation.server import Server

    profile = profile_of(options)
    insist_on_one_reader(options.paths, options.inventory, options.quota)
    context = Context(options.namespace_labels)
    server = Server(profile, namespaces=context.namespaces)
    inventory = Inventory(server, context, options.namespace)
    stored = inventory.learn(read_named("--inventory", options.inventory))
    inventory.learn(read_named("--quota", options.quota))
    new = inventory.learn(read(options.paths))
    context.finish()
    inventory.charge(stored)
    inventory.open()
    account = Account(inventory)
    account.add(new)
    return account
