"""The answer of ``claimcheck explain`` for people: the verdict, the reasons, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from allocator.explaining import in_words
from allocator.explaining.alternatives import AlternativeNote
from allocator.explaining.conflicts import Conflict
from allocator.explaining.constraint_checks import ConstraintCheck
from allocator.explaining.explanation import (
    CHANCE,
    FITS,
    Explanation,
    NodeKind,
    RequestSteps,
    values_of,
)
from allocator.explaining.holders import Holder
from allocator.explaining.steps import POOL, Step
from allocator.scheduling_outcome import enough_nodes
from commandline.explain import node_report, remedy_report
from commandline.reports.escaping import place
from commandline.reports.writing import device_lines, failure_lines
from resourceapi.phrases import number, some

if TYPE_CHECKING:
    from claimcheck.answers.explain import Answer, Explained
    from claimcheck.answers.gangs import GangAnswer
    from cluster.workloads import Workload

#: Entries that are shown of long lists.
MAX_REJECTIONS, MAX_VALUES, MAX_CONDITIONS = 4, 6, 4


ABOUT_QUOTA = "raise the quota, or delete what nobody needs; claimcheck quota shows what is used"


def lines(answer: Answer) -> Iterator[str]:
    """A section for each workload, and what could not be read."""
    for each in answer.explained:
        yield from _spaced(_section(each))
        yield ""
    yield from failure_lines(answer.failures)
    fitting = sum(each.fits for each in answer.explained)
    yield f"{len(answer.explained)} checked: {fitting} fit{'s' if fitting == 1 else ''}"
    yield from _scope(answer)


def _spaced(lines: Iterable[str]) -> Iterator[str]:
    """The lines with single empty lines between them, and none at the end."""
    empty = False
    for line in lines:
        if line and empty:
            yield ""
        if line:
            yield line
        empty = not line


def said(explained: Explained) -> str:
    """The sentence with which the section of a workload begins, without its name."""
    return next(_section(explained)).removeprefix(f"{_head(explained.workload)}: ")


def _head(workload: Workload) -> str:
    copies = f", one of {workload.copies} pods" if workload.copies > 1 else ""
    if running := len(workload.running):
        copies += f", {running} of which {'is' if running == 1 else 'are'} on {'a node' if running == 1 else 'nodes'} already"
    return f"{workload.title} ({place(workload.file, workload.line)}{copies})"


def _section(explained: Explained) -> Iterator[str]:
    workload, explanation = explained.workload, explained.explanation
    head = _head(workload)
    start = f"{head}: "
    if explanation is not None and workload.waits_for:
        yield f"{head}: waits for {workload.waits_for}"
        if workload.refused:
            yield f"  {ABOUT_QUOTA}"
        start = "  after that: "
    if explanation is not None and (gang := explained.gang) is not None and not gang.fits:
        yield f"{start}{_of_gang(gang, explanation)}"
        start = (
            "  this pod, beside those that fit: " if explanation.verdict != FITS else "  by itself, this pod "
        )
    if explained.bypassed:
        yield f"{head}: gets no devices: {explained.bypassed}"
    elif explained.bound:
        yield f"{head}: {'all its pods are on nodes' if workload.running else f'is on {explained.bound}'}"
        yield from node_report.messages(explained)
        yield from node_report.allocated(explained)
    elif explanation is None:
        waits = explained.waits_for
        yield f"{head}: {f'waits for {waits}' if waits else f'cannot be answered: {workload.problem}'}"
    elif explained.open_conditions:
        yield from _open_conditions(head, explained)
        yield from node_report.messages(explained)
        yield from node_report.allocated(explained)
    elif explained.users is not None:
        yield f"{head}: is allocated on {_nodes(explained.allocated_on)}, {explained.users.used_by}"
        yield from node_report.allocated(explained)
    elif explanation.verdict == FITS:
        assert explanation.placed is not None
        placed = explanation.placed.node
        yield f"{start}fits on {_nodes([placed, *(each for each in explanation.fitting if each != placed)])}"
        if explained.gang is not None and explained.gang.fits and explained.gang.misfits:
            yield f"  {explained.gang.headline}"
        yield from node_report.messages(explained)
        yield from node_report.allocated(explained)
        yield from _fit(explanation)
    else:
        yield f"{start}{in_words.headline(explanation)}"
        yield from node_report.messages(explained)
        yield from _misfit(explanation, explained)


def _of_gang(gang: GangAnswer, explanation: Explanation) -> str:
    """That too few pods of a gang fit, and which do not."""
    if gang.is_undecided:
        return f"not decided: {gang.headline}"
    others = dict.fromkeys(each.pod.name for each in gang.misfits)
    if explanation.verdict != FITS or not others:
        return f"does not fit: {gang.headline}"
    return f"does not fit: {gang.headline}; {some(list(others))} {'does' if len(others) == 1 else 'do'} not"


def _open_conditions(head: str, explained: Explained) -> Iterator[str]:
    """Why a pod whose devices are allocated is not bound to its node, and what kube-scheduler does about it."""
    nodes, conditions = _nodes(explained.allocated_on), explained.open_conditions
    failed = [each.text for each in conditions if each.failed]
    shown = failed or [each.text for each in conditions]
    more = (
        f"; and {number(len(shown) - MAX_CONDITIONS, 'more condition')}"
        if len(shown) > MAX_CONDITIONS
        else ""
    )
    what = "binding its devices failed" if failed else "waits for binding conditions of its devices"
    yield f"{head}: {what} on {nodes}: {'; '.join(shown[:MAX_CONDITIONS])}{more}"
    if failed:
        yield "  kube-scheduler takes back the devices and starts again, maybe with the same ones; their driver has to fix the cause"
    else:
        yield (
            "  their driver has to set them to True in status.devices of the claim; if that takes longer than the "
            "bindingTimeout of kube-scheduler (10 minutes by default), it takes back the devices and starts again"
        )


def _nodes(names: Sequence[str]) -> str:
    if not names:
        return "no node that exists"
    others = len(names) - 1
    more = f", and on {number(others, 'other node')}" if others else ""
    return f"{names[0]}{more}"


def _fit(explanation: Explanation) -> Iterator[str]:
    assert explanation.placed is not None
    for claim, result in zip(explanation.demand, explanation.placed.result or (), strict=False):
        yield f"  claim {claim.name}"
        yield from device_lines(result)
    yield from _alternatives(explanation)


def _misfit(explanation: Explanation, explained: Explained) -> Iterator[str]:
    yield from _unusable_pools(explanation)
    yield from (f"  {line}" for line in in_words.findings(explanation))
    yield from _ending(explanation)
    yield from remedy_report.later(explained.later)
    yield from remedy_report.remedies(explanation)
    yield from remedy_report.templates(explanation, explained.workload)
    if holders := list(remedy_report.holders(explanation)):
        yield "  who holds devices that it needs:"
        yield from (f"    {line}" for line in holders)
    yield ""
    yield from (f"  {line}" for line in in_words.summary(explanation))
    # Requests that are wrong on every node have no steps.
    kinds = [kind for kind in explanation.kinds if kind.requests or not explanation.demand]
    for kind in kinds[: remedy_report.MAX_KINDS]:
        yield ""
        yield from _kind(kind, explanation)
    if more := kinds[remedy_report.MAX_KINDS :]:
        yield ""
        nodes = sum(len(kind.nodes) for kind in more)
        yield f"  {number(nodes, 'more node')} of {number(len(more), 'other kind')}, with fewer suitable devices"
    yield from node_report.rejected_nodes(explained)
    yield from _alternatives(explanation)
    yield from _conflicts(explanation)


def _ending(explanation: Explanation) -> Iterator[str]:
    """What an error on one node means for the other nodes, and how to avoid it."""
    error, fitting = explanation.error, len(explanation.fitting)
    if error is None:
        return
    if explanation.verdict == CHANCE:
        enough = enough_nodes(len(explanation.answers) + len(explanation.excluded))
        yield (
            f"  it fits on {number(fitting, 'node')}, such as {explanation.fitting[0]}; an attempt succeeds if kube-scheduler "
            f"finds {enough} of them before it reaches {_failing(explanation)}, which changes from attempt to attempt: "
            "the starting node differs, and 16 workers check nodes in parallel"
        )
    elif fitting:
        yield (
            f"  it would fit on {number(fitting, 'node')}, such as {explanation.fitting[0]}, but kube-scheduler also "
            f"checks {_failing(explanation)}, and an error on one node fails the whole attempt"
        )
    if error.fix:
        yield f"  {error.fix}"


def _failing(explanation: Explanation) -> str:
    errors = explanation.errors
    more = f" or {number(len(errors) - 1, 'other node')} with errors" if len(errors) > 1 else ""
    return f"{errors[0].node}{more}"


def _unusable_pools(explanation: Explanation) -> Iterator[str]:
    """Pools of the closest nodes whose devices do not count, which nothing in the pod can change."""
    for kind in explanation.kinds[: remedy_report.MAX_KINDS]:
        for rejection in kind.requests[0].steps[0].rejected if kind.requests else ():
            devices = number(rejection.devices, "device")
            left_out = (
                f", {devices} {'is' if rejection.devices == 1 else 'are'} left out"
                if rejection.devices
                else ""
            )
            yield f"  on {remedy_report.like(kind)}{left_out}: {rejection.reason}"


def _kind(kind: NodeKind, explanation: Explanation) -> Iterator[str]:
    each = ", each" if len(kind.nodes) > 1 else ""
    yield f"  on {remedy_report.like(kind)}{each}:"
    said = explanation.refusal or (explanation.error and explanation.error.error)
    if kind.error and kind.error != said:
        yield f"    error: {kind.error}"
    if kind.lacks:
        yield f"    {kind.lacks}"
    if kind.requests and not any(
        request.steps[0].left or request.steps[0].rejected for request in kind.requests
    ):
        yield "    no devices"
        return
    for request in kind.requests:
        yield from _request(request, explanation.claim_users, len(kind.nodes))
    for check in kind.constraint_checks:
        yield from _constraint(check, kind)


def _request(request: RequestSteps, users: Mapping[str, Holder], nodes: int = 1) -> Iterator[str]:
    alternative = request.alternative
    wanted = "all" if alternative.takes_all else f"{alternative.count:,}"
    what = "alternative" if alternative.subrequest else "request"
    device_class = alternative.details.device_class
    yield f"    {what} {alternative.name} of claim {alternative.claim.name}: {wanted} of class {device_class}"
    for step in request.steps:
        yield from _step(step, users, nodes)
    if request.left < request.needed:
        yield f"      => {request.left:,} of {request.needed:,}"


def _step(step: Step, users: Mapping[str, Holder], nodes: int = 1) -> Iterator[str]:
    if step.rule == POOL:
        devices = step.left + sum(rejection.devices for rejection in step.rejected)
        yield f"      {devices:>5,} {'device' if devices == 1 else 'devices'} on the node"
        if step.rejected:
            yield f"      {step.left:>5,} left after {step.title}"
    else:
        yield f"      {step.left:>5,} left after {step.title}"
    rejections = sorted(step.rejected, key=lambda rejection: -rejection.devices)
    for rejection in rejections[:MAX_REJECTIONS]:
        together = f" (on all {nodes} nodes)" if nodes > 1 and rejection.varies else ""
        fewer = f"-{rejection.devices:,} " if rejection.devices else ""
        yield f"              {fewer}{rejection.said(users)}{together}"
    if others := rejections[MAX_REJECTIONS:]:
        yield f"              -{sum(rejection.devices for rejection in others):,} for {number(len(others), 'more reason')}"
    if step.failed and step.missing:
        yield f"              {step.missing} is missing on {number(step.failed, 'device')}"
    yield from (f"              {line}" for line in in_words.patched(step.patched))


def _only(fact: object, kind: NodeKind) -> str:
    """The node that a fact is about, if equivalent nodes differ in it."""
    return "" if fact in kind.common else f" (on {kind.nodes[0]})"


def _constraint(check: ConstraintCheck, nodes: NodeKind) -> Iterator[str]:
    kind = "distinctAttribute" if check.constraint.distinct else "matchAttribute"
    if check.satisfiable or not check.values:
        return
    yield (
        f"    {kind} {check.constraint.attribute} of claim {check.claim}: "
        + (
            f"{number(len(check.values), 'value')} for {sum(check.needed.values())} devices"
            if check.constraint.distinct
            else "no value has enough devices"
        )
        + _only(values_of(check), nodes)
    )
    ranked = sorted(check.values.items(), key=lambda entry: (-sum(entry[1].values()), entry[0]))
    for value, counts in ranked[:MAX_VALUES]:
        offers = ", ".join(
            f"{name} {counts.get(name, 0)} of {needed}" for name, needed in check.needed.items()
        )
        yield f"        {value}: {offers}"
    if len(ranked) > MAX_VALUES:
        yield f"        and {len(ranked) - MAX_VALUES} more values"
    yield from (f"        {line}" for line in in_words.patched(check.patched))


def _alternatives(explanation: Explanation) -> Iterator[str]:
    if explanation.alternatives:
        yield ""
    for note in explanation.alternatives:
        yield f"  alternative {note.name} of claim {note.claim} {note.text}"
        if explanation.placed is not None and not note.fits:
            yield from _shortage(explanation, note)


def _shortage(explanation: Explanation, note: AlternativeNote) -> Iterator[str]:
    """The steps of an alternative that finds too few devices."""
    for request in explanation.kinds[0].requests:
        alternative = request.alternative
        if (alternative.claim.name, alternative.name) == (
            note.claim,
            note.name,
        ) and request.left < request.needed:
            for step in request.steps:
                yield from _step(step, explanation.claim_users)
            yield f"      => {request.left:,} of {request.needed:,}"


def _conflicts(explanation: Explanation) -> Iterator[str]:
    general, on_nodes = explanation.conflict, explanation.conflicts
    one_node = len(explanation.kinds) == 1 and len(explanation.kinds[0].nodes) == 1
    if general is not None and not one_node:
        members = [member.key for member in general.members]
        on_nodes = [each for each in on_nodes if [member.key for member in each.members] != members]
    # With one kind of node, the conflict there is the general one, and also names the claims that hold devices.
    if general is not None and not (on_nodes and len(explanation.kinds) == 1):
        yield ""
        eligible = "eligible " if explanation.excluded else ""
        nowhere = "without an error on some node" if explanation.fitting else f"on any {eligible}node"
        if explanation.away:
            nowhere += f" while {'its claim stays' if len(explanation.away) == 1 else 'its claims stay'} allocated as now"
        yield f"  conflict: {in_words.what_cannot_be(general, nowhere)}"
        yield from _members(general)
    for conflict in on_nodes:
        yield ""
        yield f"  conflict on {conflict.node}: {in_words.what_cannot_be(conflict, 'there')}"
        yield from _members(conflict)


def _members(conflict: Conflict) -> Iterator[str]:
    return (f"    - {member.text}" for member in conflict.members)


def _scope(answer: Answer) -> Iterator[str]:
    """Lines for the end of a report: which checks were made, and that pods are looked at one by one."""
    yield from answer.notes
    if sum(each.workload.copies for each in answer.explained) > 1:
        yield (
            "Each pod is explained by itself, as if the others in these files did not exist; "
            "claimcheck simulate places them together."
        )
