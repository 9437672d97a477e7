"""The options of ``claimcheck migrate-storage``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.options import add_cluster, describe

if TYPE_CHECKING:
    from argparse import ArgumentParser

DESCRIPTION = "Move a cluster's DRA objects when CRDs start or stop serving resource.k8s.io."
EXAMPLES = """examples:
  claimcheck migrate-storage save dra.json --kubeconfig ~/.kube/config
  claimcheck migrate-storage clear dra.json --kubeconfig ~/.kube/config
  claimcheck migrate-storage restore dra.json --kubeconfig ~/.kube/config

`save` writes all objects of resource.k8s.io with their status to a new file. `clear` deletes them from the cluster, also
those with finalizers, but only if every object in the cluster is in the file unchanged. `restore` creates the objects of
the file and deletes all others of that group, also those with finalizers. `clear` and `restore` can be repeated. All three
refuse to run while a kube-scheduler or kube-controller-manager renews its lease.

exit codes: 0 done, 2 not done, or only in part
"""
SAVE, CLEAR, RESTORE = "save", "clear", "restore"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    describe(parser, DESCRIPTION, EXAMPLES)
    parser.add_argument(
        "action",
        choices=(SAVE, CLEAR, RESTORE),
        help="save and clear before the change, restore after it",
    )
    parser.add_argument("file", metavar="FILE", help="the file that keeps the objects")
    add_cluster(parser, "work on a live cluster, as its administrator")
