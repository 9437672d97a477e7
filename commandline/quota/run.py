"""Runs ``claimcheck quota``: charges claims and pods to quotas, and writes the account."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from commandline.options import profile_of

if TYPE_CHECKING:
    from argparse import Namespace

    from commandline.quota.account import Account


def run(options: Namespace) -> int:
    """Charge everything that the options name, and write the account.

    :raises UsageError: for a release or gates that do not exist.
    """
    from commandline.quota import json_report, text_report
    from commandline.reports.writing import write_answer

    account = make(options)
    write_answer(options.output, account, sys.stdout, lines=text_report.lines, document=json_report.document)
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
