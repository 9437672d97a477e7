"""Runs ``claimcheck devices``: reads the cluster, and writes what its devices are."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from commandline.devices.options import CSV, JSON, SVG, TEXT, WIDE, YAML
from commandline.errors import SUCCESS, UNFINISHED, UsageError
from commandline.live_cluster import cluster_or_inventory
from commandline.options import HTML, profile_of
from commandline.scenario import read_cluster, slow_patches

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from allocator.devices import Device
    from allocator.time_limit import TimeLimit
    from claimcheck.answers.devices.cluster_devices import ClusterDevices
    from commandline.devices.filters import Filters


def run(options: Namespace) -> int:
    """List the devices, or show one in full.

    :raises UsageError: for options that contradict each other, or name what does not exist.
    """
    from allocator.time_limit import OutOfTime, TimeLimit
    from claimcheck.answers.devices.cluster_devices import ClusterDevices
    from commandline.devices.filters import Filters, named
    from commandline.reports.escaping import complain

    _check(options)
    options.live |= not options.inventory
    cluster = cluster_or_inventory(options)
    state, _ = read_cluster(options, cluster, profile_of(options))
    limit = TimeLimit(options.timeout)
    try:
        devices = ClusterDevices(state, limit)
    except OutOfTime:
        raise UsageError(slow_patches(options.timeout)) from None
    filters = Filters(options, devices, limit)
    try:
        chosen = list(filters.of(devices))
    except OutOfTime:
        raise UsageError(f"the selectors took longer than {options.timeout:g} s (--timeout)") from None
    if options.names:
        chosen = named(chosen, options.names)
    try:
        if options.names or options.output not in (TEXT, WIDE):
            devices.evictions()  # before anything is written
    except OutOfTime:
        raise UsageError(
            f"finding out which pods are evicted took longer than {options.timeout:g} s (--timeout)"
        ) from None
    if options.summary:
        _write_summary(options, devices, chosen, limit)
    else:
        _write(options, devices, chosen)
    complain(*_remarks(options, devices, chosen, filters))
    return UNFINISHED if state.failures else SUCCESS


def _check(options: Namespace) -> None:
    """Check that the options go together.

    :raises UsageError: if not.
    """
    allowed = (TEXT, JSON, YAML, CSV) if options.summary else (TEXT, WIDE, JSON, YAML, HTML, SVG)
    if options.output not in allowed:
        beside = "with" if options.summary else "without"
        raise UsageError(f"--output {options.output}: {beside} --summary, it is {', '.join(allowed)}")


def _write_summary(
    options: Namespace, devices: ClusterDevices, chosen: list[Device], limit: TimeLimit
) -> None:
    from claimcheck.answers.devices.capacity import capacity
    from commandline.devices import capacity_report
    from commandline.reports.writing import write_answer

    found = capacity(devices, limit, chosen)
    if options.output == CSV:
        sys.stdout.write(capacity_report.as_csv(found))
    else:
        write_answer(options, found, lines=capacity_report.lines, document=capacity_report.document)


def _write(options: Namespace, devices: ClusterDevices, chosen: list[Device]) -> None:
    from commandline.devices import description, table
    from commandline.devices.json_report import write_documents
    from commandline.reports.writing import write_text

    if options.output in (HTML, SVG):
        from commandline.devices.picture import write_html, write_map

        (write_html if options.output == HTML else write_map)(sys.stdout, devices, chosen)
    elif options.output not in (TEXT, WIDE):
        write_documents(options.output, devices, chosen)
    elif options.names and len({device.id for device in chosen}) == 1:
        write_text(options, description.lines(devices, chosen[0]))
    else:
        write_text(options, table.lines(devices, chosen, wide=options.output == WIDE))


def _remarks(
    options: Namespace, devices: ClusterDevices, chosen: list[Device], filters: Filters
) -> Iterator[str]:
    """What is to be said beside the devices, on standard error."""
    from allocator.devices import first_of
    from claimcheck.answers.caveats import consequences, group_notes
    from claimcheck.answers.devices.cluster_devices import patch_failures
    from commandline.devices import words
    from commandline.reports.writing import failure_lines
    from resourceapi.kinds import RESOURCE_SLICE

    yield from failure_lines(devices.state.failures)
    yield from consequences(devices.state.unread)
    yield from group_notes(devices.state)
    for each in filters.failed:
        yield f"{each.option} fails on {first_of(each.devices, each.device.id)}: {each.error}"
    if not chosen and RESOURCE_SLICE.name not in devices.state.unread:
        yield filters.nothing()
    if filters.are_empty and not options.names:
        yield from patch_failures(devices)
        for device, uses in devices.vanished().items():
            yield f"no slice has {device}, which is allocated to {words.some(words.users(uses), 3)}"
