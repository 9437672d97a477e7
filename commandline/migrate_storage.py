"""``claimcheck migrate-storage``: saves, clears or restores a cluster's DRA objects before and after CRDs serve them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from commandline.errors import UNFINISHED, UsageError
from commandline.options import add_cluster, asks_for_cluster
from commandline.rewriting import write_whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


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
    parser.add_argument(
        "action",
        choices=(SAVE, CLEAR, RESTORE),
        help="save and clear before the change, restore after it",
    )
    parser.add_argument("file", metavar="FILE", help="the file that keeps the objects")
    add_cluster(parser, "work on a live cluster, as its administrator")


BEGINNING = '{"apiVersion": "v1", "kind": "List", "items": [\n'


def run(options: Namespace) -> int:
    """Save, clear or restore."""
    from cluster.storage_migration import Refused, check_controllers_stopped, clear, restore, saved
    from commandline.live_cluster import live_cluster
    from commandline.reports.escaping import complain, write_lines
    from resourceapi.api_client import Unavailable

    def tell(line: str) -> None:
        write_lines((line,), sys.stdout)

    if not asks_for_cluster(options):
        raise UsageError("migrate-storage: name the cluster with --kubeconfig FILE, --context NAME or --live")
    cluster = live_cluster(options)
    api = cluster.client
    try:
        if options.action == SAVE:
            if os.path.lexists(options.file):
                raise UsageError(f"migrate-storage: {options.file} already exists")
            check_controllers_stopped(api)
            objects = list(saved(api))
            _write(options.file, objects)
            tell(f"{options.file}: {len(objects)} objects")
        else:
            objects = _read(options.file)
            check_controllers_stopped(api)
            if options.action == CLEAR:
                count = clear(api, objects, tell)
                tell(f"{cluster.name}: deleted all {count} objects, which are in {options.file}")
            else:
                count = restore(api, objects, tell)
                tell(f"{cluster.name}: has the {count} objects of {options.file}, and no others")
    except Unavailable as error:
        complain(f"claimcheck: migrate-storage: {cluster.failure(error)}")
        return UNFINISHED
    except Refused as error:
        complain(f"claimcheck: migrate-storage: {error}")
        return UNFINISHED
    return 0


def _write(file: str, objects: list[dict[str, Any]]) -> None:
    """Write the whole file, an object to a line, or nothing."""
    from resourceapi import deep_json

    try:
        # what drivers publish about their devices is not for everybody
        write_whole(file, (BEGINNING, ",\n".join(map(deep_json.dumps, objects)), "\n]}\n"))
    except OSError as error:
        raise UsageError(f"migrate-storage: {file}: {error.strerror or error}") from None


def _read(file: str) -> list[dict[str, Any]]:
    from resourceapi import deep_json

    try:
        with open(file, encoding="utf-8") as source:
            whole = deep_json.loads(source.read())
    except OSError as error:
        raise UsageError(f"migrate-storage: {file}: {error.strerror or error}") from None
    except ValueError:
        whole = None
    items = whole.get("items") if isinstance(whole, dict) else None
    if not isinstance(items, list) or not all(_is_saved(item) for item in items):
        raise UsageError(f"migrate-storage: {file}: not a file that `save` wrote")
    return items


def _is_saved(item: object) -> bool:
    """Whether it is an object of the group with kind, name and namespace."""
    from cluster.storage_migration import key_of
    from resourceapi.kinds import KINDS
    from resourceapi.model.versions import GROUP
    from resourceapi.releases import split_api_version

    if not isinstance(item, dict) or not isinstance(item.get("metadata"), dict):
        return False
    key = key_of(item)
    version = item.get("apiVersion")
    if not isinstance(version, str) or key.kind not in KINDS or not key.name:
        return False
    return split_api_version(version)[0] == GROUP and KINDS[key.kind].namespaced == bool(key.namespace)
