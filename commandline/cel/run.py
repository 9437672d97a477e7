"""``claimcheck cel``: what a CEL expression is, costs and gives on devices, and why."""

from __future__ import annotations

import sys
from argparse import RawDescriptionHelpFormatter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from commandline.errors import UsageError
from commandline.options import add_server_options, profile_of

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from commandline.treatment import Manifest
    from resourceapi.releases import Profile
    from validation.inventory import Inventory

DESCRIPTION = (
    "Say what kube-apiserver makes of a CEL expression of a device selector (its type, its estimated cost, its "
    "errors), and what kube-scheduler gets from it on devices: the result, the actual cost, and why it is no match."
)
EXAMPLES = """examples:
  claimcheck cel 'device.attributes["gpu.example.com"].model == "a100"'
  claimcheck cel EXPR --device slice.yaml              on each device of a ResourceSlice
  claimcheck cel EXPR --inventory cluster/             on all devices of a cluster's ResourceSlices
  claimcheck cel - < expression.txt                    the expression from standard input
  claimcheck cel --derived 'device.attributes["gpu.example.com"].model.lowerAscii()' --device device.yaml

--device also takes a single device: an object with `driver`, `attributes` and `capacity` as in a ResourceSlice.

exit codes: 0 the server takes the expression, and of the devices, if any, one matches; 1 it does not, or none does;
2 some of the work could not be done
"""
FORMATS = ("text", "json")
_V1, _V1BETA1 = "resource.k8s.io/v1", "resource.k8s.io/v1beta1"
_OF_A_DEVICE = frozenset(("driver", "attributes", "capacity", "basic", "allowMultipleAllocations"))


def add_arguments(parser: ArgumentParser) -> None:
    """Give a parser the options of the subcommand."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.add_argument("expression", metavar="EXPR|-", help="the expression; - is standard input")
    parser.add_argument(
        "--device",
        metavar="FILE",
        action="append",
        default=[],
        help="ResourceSlices, or a device with its driver, as YAML or JSON; - is standard input",
    )
    parser.add_argument(
        "--inventory",
        metavar="DIR",
        action="append",
        default=[],
        help="objects of a cluster: the devices of its ResourceSlices (or a file)",
    )
    parser.add_argument(
        "--derived", action="store_true", help="the expression of a derived attribute, not a selector"
    )
    add_server_options(parser)
    parser.add_argument("-o", "--output", choices=FORMATS, default="text", help="default: text")


def run(options: Namespace) -> int:
    """Judge the expression, and write the report.

    :raises UsageError: for input that cannot be read or has no devices.
    """
    from commandline.cel import reports as cel_report
    from commandline.cel.evaluation import judge

    profile = profile_of(options)
    expression = _expression(options)
    inventory = _devices(options, profile) if options.device or options.inventory else None
    judgement = judge(expression, profile, derived=options.derived, inventory=inventory)
    if options.output == "json":
        cel_report.write_json(judgement, sys.stdout)
    else:
        cel_report.write_text(judgement, sys.stdout)
    return 0 if judgement.is_good else 1


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


def _devices(options: Namespace, profile: Profile) -> Inventory:
    from validation.inventory import Inventory

    inventory = Inventory()
    for manifest in _manifests(options.device):
        _take_up(inventory, _as_slice(manifest), manifest, profile)
    for manifest in _manifests(options.inventory):
        if manifest.value.get("kind") == "ResourceSlice":
            _take_up(inventory, manifest.value, manifest, profile)
    if not len(inventory):
        raise UsageError(f"no devices in {', '.join([*options.device, *options.inventory])}")
    return inventory


def _manifests(paths: list[str]) -> Iterator[Manifest]:
    from commandline.reading import read
    from commandline.results import Failure, Result

    for found in read(paths):
        if isinstance(found, Failure):
            raise UsageError(f"{found.file}: {found.message}")
        if isinstance(found, Result):
            finding = found.findings[0]
            raise UsageError(f"{found.file}:{finding.line}: {finding.message}")
        yield found


def _as_slice(manifest: Manifest) -> dict[str, Any]:
    """The slice that a document is, or one around the device that it is."""
    value = manifest.value
    if value.get("kind") == "ResourceSlice":
        return value
    if value.keys().isdisjoint(_OF_A_DEVICE):
        raise UsageError(f"{manifest.file}:{manifest.line}: neither a ResourceSlice nor a device")
    driver = value.get("driver")
    if not isinstance(driver, str) or not driver:
        raise UsageError(f"{manifest.file}:{manifest.line}: the device does not say its `driver`")
    device = {key: part for key, part in value.items() if key != "driver"}
    return {
        "apiVersion": _V1BETA1 if "basic" in device else _V1,
        "kind": "ResourceSlice",
        "spec": {"driver": driver, "devices": [device]},
    }


def _take_up(inventory: Inventory, value: dict[str, Any], manifest: Manifest, profile: Profile) -> None:
    from resourceapi.decoding import DecodingError
    from validation.inventory import read_slice

    try:
        spec = read_slice(value, profile.schemas)
    except DecodingError as error:
        raise UsageError(f"{manifest.file}:{manifest.line}: {error.text}") from None
    if spec is None:
        version = value.get("apiVersion")
        raise UsageError(f"{manifest.file}:{manifest.line}: ResourceSlices have no version {version}")
    inventory.add(spec)
