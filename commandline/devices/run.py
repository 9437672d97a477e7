"""Runs ``claimcheck devices``: reads the cluster, and writes what its devices are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.devices.options import TEXT, WIDE
from commandline.errors import NEGATIVE, SUCCESS, UNFINISHED, UsageError
from commandline.live_cluster import cluster_or_inventory
from commandline.options import profile_of
from commandline.scenario import read_cluster, slow_patches

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from allocator.devices import Device
    from claimcheck.answers.cluster_state import ClusterState
    from claimcheck.answers.devices.cluster_devices import ClusterDevices
    from claimcheck.answers.devices.proposal import Proposal
    from commandline.devices.filters import Filters
    from documents.manifest import Manifest


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
    state, existing = read_cluster(options, cluster, profile_of(options))
    if options.diff:
        return _compare(options, state, existing)
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
    _write(options, devices, chosen)
    complain(*_remarks(options, devices, chosen, filters))
    return UNFINISHED if state.failures else SUCCESS


def _check(options: Namespace) -> None:
    """Check that options do not contradict each other.

    :raises UsageError: if they do.
    """
    from commandline.reading import insist_on_one_reader

    if options.without and not options.diff:
        raise UsageError("--without: only with --diff")
    if not options.diff:
        return
    if not options.names and not options.without:
        raise UsageError("--diff: name files with ResourceSlicePatches, or - for standard input")
    insist_on_one_reader(options.names, options.inventory)
    for name, value in vars(options).items():
        if name.startswith("only_") and value is not None:
            raise UsageError(f"--diff and --{name.removeprefix('only_')}: use only one of them")


def _compare(options: Namespace, state: ClusterState, existing: list[Manifest]) -> int:
    """Write what the objects of ``--diff`` would change."""
    from allocator.time_limit import OutOfTime, TimeLimit
    from claimcheck.answers.caveats import consequences, group_notes
    from claimcheck.answers.devices.cluster_devices import ClusterDevices
    from claimcheck.answers.devices.comparison import compare
    from claimcheck.answers.devices.pending_pods import pending
    from claimcheck.answers.devices.proposal import Proposal
    from commandline.devices import comparison_json, comparison_text
    from commandline.devices.json_report import write_document
    from commandline.reading import read_named
    from commandline.reports.escaping import complain
    from commandline.reports.writing import failure_documents, failure_lines, write_text

    proposal = Proposal(state, read_named("--diff", options.names), options.without)
    _insist_on_use(options, state, proposal)
    workloads = pending(state, existing, options.namespace)
    limit = TimeLimit(options.timeout)
    try:
        found = compare(ClusterDevices(state, limit), proposal, workloads, limit)
    except OutOfTime:
        message = f"finding out what would change took longer than {options.timeout:g} s (--timeout)"
        raise UsageError(message) from None
    if options.output in (TEXT, WIDE):
        write_text(options, comparison_text.lines(found, wide=options.output == WIDE))
    else:
        failures = failure_documents(state.failures)
        write_document(options.output, comparison_json.document(found) | {"failures": failures})
    complain(*failure_lines(state.failures), *consequences(state.unread), *group_notes(state))
    if (proposal.patches or options.without) and not state.features.device_patches:
        complain("the feature gate DRAAdminControlledDeviceAttributes is off, so patches have no effect")
    if state.failures or found.undecided:
        return UNFINISHED
    return NEGATIVE if found.changed else SUCCESS


def _insist_on_use(options: Namespace, state: ClusterState, proposal: Proposal) -> None:
    """Check that there is something to compare, and that the cluster has the patches to delete, and files do not.

    :raises UsageError: if not.
    """
    from resourceapi.kinds import DEVICE_TAINT_RULE, RESOURCE_SLICE_PATCH
    from resourceapi.phrases import nearest

    stored = state.of(RESOURCE_SLICE_PATCH.name)
    for name in options.without:
        if name not in stored:
            meant = nearest(name, stored)
            hint = f"did you mean {meant}?" if meant else ""
            raise UsageError(f"--without {name}: there is no such {RESOURCE_SLICE_PATCH.name}", hint)
        if name in proposal.patches:
            raise UsageError(f"--without {name}: the files have that {RESOURCE_SLICE_PATCH.name}")
    if options.names and not proposal.patches and not proposal.rules:
        raise UsageError(
            f"--diff {' '.join(options.names)}: neither a {RESOURCE_SLICE_PATCH.name} nor a {DEVICE_TAINT_RULE.name}"
        )


def _write(options: Namespace, devices: ClusterDevices, chosen: list[Device]) -> None:
    from commandline.devices import description, table
    from commandline.devices.json_report import write_documents
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
