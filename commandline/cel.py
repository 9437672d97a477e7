"""``claimcheck cel``: a CEL expression's verdict, cost and results on devices."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from commandline.errors import NEGATIVE, SUCCESS, UNFINISHED, UsageError
from commandline.options import (
    add_cluster,
    add_inventory,
    add_output,
    add_server_options,
    asks_for_cluster,
    profile_of,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from advice.device_inventory import DeviceInventory
    from allocator.inventory import Inventory
    from claimcheck.answers.live_cluster import LiveCluster
    from claimcheck.answers.outcome import Unread
    from cluster.live_objects import LiveObject
    from documents.manifest import Manifest
    from resourceapi.releases import Profile


DESCRIPTION = (
    "Compile a CEL expression of a device selector as kube-apiserver does (type, estimated cost, errors), and "
    "evaluate it on devices as kube-scheduler does (result, actual cost, and the reason if it does not match)."
)
EXAMPLES = """examples:
  claimcheck cel 'device.attributes["gpu.example.com"].model == "a100"'
  claimcheck cel EXPR --device slice.yaml              on each device of a ResourceSlice
  claimcheck cel EXPR --inventory cluster/             on all devices of a cluster's ResourceSlices
  claimcheck cel EXPR --live                           the same in the cluster that kubectl asks
  claimcheck cel - < expression.txt                    read the expression from standard input
  claimcheck cel --derived 'device.attributes["gpu.example.com"].model.lowerAscii()' --device device.yaml

--device also accepts a single device: an object with `driver`, `attributes` and `capacity` as in a ResourceSlice.

exit codes: 0 the server accepts the expression and, if devices are given, at least one matches; 1 otherwise;
2 some input could not be read
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    parser.add_argument("expression", metavar="EXPR|-", help="the expression; - reads standard input")
    parser.add_argument(
        "--device",
        metavar="FILE",
        action="append",
        default=[],
        help="ResourceSlices, or a device with its driver, in YAML or JSON; - reads standard input",
    )
    add_inventory(parser, "objects of a cluster, of which the ResourceSlices are used; a directory or a file")
    add_cluster(parser, "evaluate on the devices of a live cluster")
    parser.add_argument(
        "--derived", action="store_true", help="the expression computes a derived attribute, not a match"
    )
    add_server_options(parser)
    add_output(parser)


_V1, _V1BETA1 = "resource.k8s.io/v1", "resource.k8s.io/v1beta1"
_DEVICE_FIELDS = frozenset(("driver", "attributes", "capacity", "basic", "allowMultipleAllocations"))


def run(options: Namespace) -> int:
    """Evaluate the expression, and write the answer.

    :raises UsageError: for input that cannot be read, or devices that are not in it.
    """
    from claimcheck.answers.caveats import consequences
    from claimcheck.answers.cel import evaluate
    from commandline.cel_report import document, lines
    from commandline.reports.escaping import complain
    from commandline.reports.writing import failure_lines, write_answer

    cluster = _cluster(options)
    profile = profile_of(options)
    expression = _expression(options)
    with_devices = options.device or options.inventory or cluster
    unread: dict[str, Unread] = {}
    inventory, patched = _devices(options, profile, cluster, unread) if with_devices else (None, None)
    answer = evaluate(expression, profile, derived=options.derived, inventory=inventory, patched=patched)
    write_answer(options, answer, lines=lines, document=document)
    complain(*failure_lines(unread.values()), *consequences(unread))
    if unread:
        return UNFINISHED
    return SUCCESS if answer.is_good else NEGATIVE


def _expression(options: Namespace) -> str:
    if options.expression != "-":
        return str(options.expression)
    if "-" in (*options.device, *options.inventory):
        raise UsageError("the expression and the devices cannot both come from standard input")
    content = sys.stdin.buffer.read()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not UTF-8: {error.reason} at byte {error.start}") from None
    return text.removesuffix("\n").removesuffix("\r")


def _cluster(options: Namespace) -> LiveCluster | None:
    """The live cluster, if the options ask for one; the release is known then."""
    if not asks_for_cluster(options):
        return None
    from commandline.live_cluster import cluster_of

    options.namespace = None  # devices are in none
    return cluster_of(options)


def _devices(
    options: Namespace, profile: Profile, cluster: LiveCluster | None, unread: dict[str, Unread]
) -> tuple[DeviceInventory, Inventory | None]:
    """The devices that the options name, as the patches of the cluster change them; who gives them their values, if patches do.

    :param unread: gets the list of patches if the user may not read it: devices then are as their slices have them.
    """
    from claimcheck.answers.cel_devices import KINDS, Devices
    from resourceapi.kinds import DEVICE_CLASS

    devices = Devices(profile)
    for manifest in _manifests(options.device):
        devices.learn(manifest, _as_slice(manifest))
    for manifest in _manifests(options.inventory):
        devices.learn(manifest, manifest.value)
    for manifest in _live(cluster, profile, KINDS, unread) if cluster else ():
        devices.learn(manifest, manifest.value)
    if cluster and devices.named_classes:
        for manifest in _live(cluster, profile, (DEVICE_CLASS.name,), unread):
            devices.learn(manifest, manifest.value)
    inventory = devices.inventory()
    if not len(inventory):
        searched = [
            *options.device,
            *options.inventory,
            *([f"the cluster {cluster.name}"] if cluster else []),
        ]
        raise UsageError(f"no devices in {', '.join(searched)}")
    return inventory, devices.patched()


def _live(
    cluster: LiveCluster, profile: Profile, kinds: Collection[str], unread: dict[str, Unread]
) -> Iterator[LiveObject]:
    """The objects of some kinds in a cluster; of patches only if they can be read.

    :raises UsageError: if others cannot be read.
    """
    from claimcheck.answers.outcome import Failure, Unread
    from resourceapi.kinds import RESOURCE_SLICE_PATCH

    for found in cluster.objects(profile, kinds=kinds):
        if isinstance(found, Unread) and found.kind == RESOURCE_SLICE_PATCH.name:
            unread[found.kind] = found
        elif isinstance(found, Failure):
            raise UsageError(f"{found.file}: {found.message}")
        else:
            yield found


def _manifests(paths: list[str]) -> Iterator[Manifest]:
    from advice.findings import Result
    from claimcheck.answers.outcome import Failure
    from commandline.reading import read

    for found in read(paths):
        if isinstance(found, Failure):
            raise UsageError(f"{found.file}: {found.message}")
        if isinstance(found, Result):
            finding = found.findings[0]
            raise UsageError(f"{found.file}:{finding.line}: {finding.message}")
        yield found


def _as_slice(manifest: Manifest) -> dict[str, Any]:
    """A ResourceSlice as it is, and a device in a ResourceSlice of its own."""
    value = manifest.value
    if value.get("kind") == "ResourceSlice":
        return value
    if value.keys().isdisjoint(_DEVICE_FIELDS):
        raise UsageError(f"{manifest.file}:{manifest.line}: neither a ResourceSlice nor a device")
    driver = value.get("driver")
    if not isinstance(driver, str) or not driver:
        raise UsageError(f"{manifest.file}:{manifest.line}: the device has no `driver`")
    device = {key: part for key, part in value.items() if key != "driver"}
    return {
        "apiVersion": _V1BETA1 if "basic" in device else _V1,
        "kind": "ResourceSlice",
        "spec": {"driver": driver, "devices": [device]},
    }
