"""The options of ``claimcheck devices``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.options import (
    HTML,
    add_cluster,
    add_inventory,
    add_namespace,
    add_output,
    add_server_options,
)
from commandline.scenario import add_timeout

if TYPE_CHECKING:
    from argparse import ArgumentParser

DESCRIPTION = (
    "List the devices of a cluster as `claimcheck schedule` sees them: attributes and capacity with the ResourceSlicePatches that "
    "change them, taints, the claims and pods that use them, and what is left of capacity and counters."
)
EXAMPLES = """examples:
  claimcheck devices                                            of the cluster that kubectl asks
  claimcheck devices --inventory cluster/                       of the objects in these files
  claimcheck devices --node gpu-7 -o wide                       with pods, attributes, capacity and counters
  claimcheck devices gpu.example.com/gpu-7/gpu-0                all about one device
  claimcheck devices --class gpu --selector 'device.attributes["gpu.example.com"].model == "a100"'
  claimcheck devices -o json                                    for programs; -o yaml is the same in YAML
  claimcheck devices --summary                                  how many are free, by model and class
  claimcheck devices -o svg > devices.svg                       a map of them; -o html has a table as well

A device is free, allocated (to one claim), shared (several claims may use it, and some do), or cannot be allocated: its pool is
incomplete or invalid, its slice is obsolete, its counters are used up by others, or a feature gate that it needs is off.

What patches and taint rules would change, `claimcheck impact` tells.

exit codes: 0 the devices are listed, even if there are none; 2 some input could not be read
"""
#: Formats of ``--summary``.
CSV = "csv"
TEXT, WIDE, JSON, YAML = "text", "wide", "json", "yaml"
SVG = "svg"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    parser.add_argument(
        "names",
        nargs="*",
        default=[],
        metavar="DEVICE",
        help="a device as DRIVER/POOL/DEVICE, or a part of that, such as POOL/DEVICE; one device is shown in full, several "
        "in a table",
    )
    add_inventory(
        parser,
        "the cluster's objects, in any version; a directory or a file: ResourceSlices, ResourceSlicePatches, "
        "DeviceTaintRules, ResourceClaims with their allocations, DeviceClasses, Nodes",
    )
    add_cluster(parser, "read the cluster's objects from a live cluster, as without --inventory")
    add_namespace(parser)
    for option, metavar, which in (
        ("--driver", "NAME", "devices of this driver"),
        ("--pool", "NAME", "devices of pools with this name"),
        ("--node", "NAME", "devices that can be used on this node"),
        ("--class", "NAME", "devices that the selectors of this DeviceClass choose"),
        ("--selector", "CEL", "devices that this expression chooses"),
    ):
        parser.add_argument(
            option,
            metavar=metavar,
            dest=f"only_{option.removeprefix('--')}",
            help=f"only {which}",
        )
    parser.add_argument(
        "--summary",
        action="store_true",
        help="instead of the devices: how many of each model and class are free, alone, as whole nodes and near each other; "
        "as text, json, yaml or csv",
    )
    add_timeout(parser, "the selectors of all devices")
    add_server_options(parser)
    add_output(parser, (TEXT, WIDE, JSON, YAML, HTML, SVG, CSV))
