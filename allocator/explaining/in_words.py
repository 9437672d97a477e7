"""Parts of an explanation as sentences, for reports and for events about pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from allocator.explaining.conflicts import REQUEST, Conflict
from allocator.explaining.explanation import Explanation
from allocator.explaining.finder import RELEASE, Remedy
from allocator.explaining.patched_values import PatchedValue
from resourceapi.counting import number, plural
from resourceapi.kinds import RESOURCE_SLICE_PATCH
from resourceapi.nearness import nearest

#: Names that are listed in a sentence, and requests or claims that get a sentence each.
MAX_NAMES, MAX_REQUESTS = 6, 3
#: Patches that are named.
MAX_PATCHES = 3


def misfit(first: str, nodes: int, eligible: str = "") -> str:
    """That a pod fits on none of some nodes.

    :param first: the name of one of them.
    :param eligible: an adjective for them, with a space after it.
    """
    return f"does not fit on {first if nodes == 1 else f'any of the {nodes:,} {eligible}nodes'}"


def away(explanation: Explanation) -> Iterator[str]:
    """The claims of the pod that have devices elsewhere already."""
    for each in explanation.away:
        if not each.nodes:
            where = "for a node that does not exist"
        elif len(each.nodes) == 1:
            where = f"on {each.nodes[0]}"
        else:
            where = f"for {each.nodes[0]} and {number(len(each.nodes) - 1, 'other node')}"
        yield f"claim {each.holder.claim} is allocated {where} ({each.holder.used_by})"


def unknown_classes(explanation: Explanation, listing: bool = True) -> Iterator[str]:
    """The DeviceClasses that there are not.

    :param listing: whether those that exist are listed if none has a similar name, for readers who may list them.
    """
    known = list(explanation.classes)
    for name in explanation.unknown_classes:
        meant = nearest(name, known)
        instead = f"existing classes: {_listed(known) or 'none'}" if listing else ""
        if meant:
            instead = f"did you mean {meant}?"
        yield f"there is no DeviceClass {name}{instead and f'; {instead}'}"


def absent_names(explanation: Explanation, listing: bool = True) -> Iterator[str]:
    """The attributes and capacities that no device has.

    :param listing: whether those that devices have are listed if none has a similar name, for readers of ResourceSlices.
    """
    for each in explanation.absent_names:
        known = _listed(each.listed) if listing else ""
        instead = f"; did you mean {each.meant}?" if each.meant else f"; they have {known}" if known else ""
        where = f"which {each.place} of claim {each.claim} names"
        yield f"no device ({each.devices:,} looked at) has the {each.kind} {each.qualified}, {where}{instead}"
        for patch, failure in each.idle_patches[:MAX_PATCHES]:
            why = str(failure) if failure is not None and listing else "applies to no device"
            yield f"{RESOURCE_SLICE_PATCH.name} {patch} would give it, but {why}"


def patched(values: Iterable[PatchedValue], most: int | None = None) -> Iterator[str]:
    """Which patches have given, or removed, what devices are refused for.

    :param most: so many patches are named of each value.
    """
    by_value: dict[tuple[str, bool], dict[str, None]] = {}
    for each in values:
        by_value.setdefault((each.name, each.removed), {})[each.patch] = None
    for (name, removed), found in by_value.items():
        patches = list(found)
        kind = RESOURCE_SLICE_PATCH.name if len(patches) == 1 else plural(RESOURCE_SLICE_PATCH.name)
        more = ", …" if most is not None and len(patches) > most else ""
        yield f"{name} {'is removed by' if removed else 'comes from'} {kind} {', '.join(patches[:most])}{more}"


def what_cannot_be(conflict: Conflict, nowhere: str) -> str:
    """What makes it a conflict: it is minimal, so that without any one member the others can be met."""
    if len(conflict.members) == 1:
        return f"this cannot be met {nowhere}"
    others = "other" if len(conflict.members) == 2 else "others"
    if conflict.despite_held:
        return f"these cannot be met together {nowhere}, even if no other claim held devices; without one of them the {others} could be met then"
    return f"these cannot be met together {nowhere}, but without any one of them the {others} can"


def remedies(remedies: Sequence[Remedy]) -> Iterator[str]:
    """Each completes the sentence "it would fit …".

    If there are many, requests that could be left out share a sentence, and so do claims to release.
    """
    groups = [[each for each in remedies if each.kind == kind and each.short] for kind in (REQUEST, RELEASE)]
    shared = [group for group in groups if len(group) > MAX_REQUESTS]
    for remedy in remedies:
        group = next((each for each in shared if remedy in each), None)
        if group is None:
            yield f"{remedy.text} ({_on(remedy.nodes)})"
        elif remedy is group[0]:
            what = "without one of these requests" if remedy.kind == REQUEST else "if one of these ended"
            yield f"{what}: {', '.join(f'{each.short} ({_on(each.nodes)})' for each in group)}"


def _on(nodes: Sequence[str]) -> str:
    return f"on {nodes[0]}" if len(nodes) == 1 else f"on {len(nodes)} nodes, such as {nodes[0]}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:MAX_NAMES]) + (", …" if len(names) > MAX_NAMES else "")
