"""The options of ``claimcheck cel``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.options import add_cluster, add_inventory, add_output, add_server_options, describe

if TYPE_CHECKING:
    from argparse import ArgumentParser

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
    describe(parser, DESCRIPTION, EXAMPLES)
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
