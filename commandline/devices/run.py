"""Runs ``claimcheck devices``: reads the cluster, and writes what its devices are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.chosen_cluster import cluster_or_inventory
from commandline.devices.options import TEXT, WIDE
from commandline.exit_codes import SUCCESS, UNFINISHED
from commandline.options import profile_of
from commandline.scenario import read_cluster

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from allocator.devices import Device
    from commandline.devices.cluster_devices import ClusterDevices
    from commandline.devices.filters import Filters


def run(options: Namespace) -> int:
    """List the devices, or show one in full.

    :raises UsageError: for options that contradict each other, or name what does not exist.
    """
    from allocator.time_limit import TimeLimit
    from commandline.devices.cluster_devices import ClusterDevices
    from commandline.devices.filters import Filters, named
    from commandline.reports.escaping import complain

    options.live |= not options.inventory
    cluster = cluster_or_inventory(options)
    state, _ = read_cluster(options, cluster, profile_of(options))
    devices = ClusterDevices(state)
    filters = Filters(options, devices, TimeLimit(options.timeout))
    chosen = list(filters.of(devices))
    if options.names:
        chosen = named(chosen, options.names)
    _write(options, devices, chosen)
    complain(*_remarks(options, devices, chosen, filters))
    return UNFINISHED if state.failures else SUCCESS


def _write(options: Namespace, devices: ClusterDevices, chosen: list[Device]) -> None:
    from commandline.devices import description, table
    from commandline.devices.writing import write_documents
    from commandline.reports.writing import write_text

    if options.output not in (TEXT, WIDE):
        write_documents(options.output, devices, chosen)
    elif options.names and len({device.id for device in chosen}) == 1:
        write_text(options, description.lines(devices, chosen[0]))
    else:
        write_text(options, table.lines(devices, chosen, wide=options.output == WIDE))


def _remarks(
    options: Namespace, devices: ClusterDevices, chosen: list[Device], filters: Filters
) -> Iterator[str]:
    """What is to be said beside the devices, on standard error."""
    from commandline.devices import words
    from commandline.devices.cluster_devices import on_devices, patch_failures
    from commandline.reports.writing import failure_lines
    from commandline.unknowns import consequences

    yield from failure_lines(devices.state.failures)
    yield from consequences(devices.state.unread)
    for each in filters.failed:
        yield f"{each.option} fails on {on_devices(each.devices, each.device.id)}: {each.error}"
    if not chosen:
        yield filters.nothing()
    if filters.are_empty and not options.names:
        yield from patch_failures(devices)
        for device, uses in devices.vanished().items():
            yield f"no slice has {device}, which is allocated to {words.some(words.users(uses), 3)}"
