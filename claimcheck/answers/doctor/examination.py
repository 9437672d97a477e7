"""Examines a cluster: asks all checks, and puts what they find into order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from advice.findings import ERROR, NOTE, WARNING
from allocator.time_limit import OutOfTime
from claimcheck.answers.caveats import consequences
from claimcheck.answers.doctor import claims, classes, pods, pools, versions
from claimcheck.answers.doctor.examined import Affected, Diagnosis, Examined
from claimcheck.answers.outcome import Failure

Checks = Mapping[str, Callable[[Examined], Iterator[Diagnosis]]]
#: All checks but that for pods that wait.
OBJECT_CHECKS: Checks = {
    "claims": claims.check,
    "ResourceSlices": pools.check,
    "DeviceClasses, ResourceSlicePatches and DeviceTaintRules": classes.check,
    "programs that write objects": versions.check,
}
#: What the check for pods that wait looks at.
PODS_THAT_WAIT = "pods that wait"
ALL_CHECKS: Checks = {PODS_THAT_WAIT: pods.check, **OBJECT_CHECKS}
_WORST_FIRST = (ERROR, WARNING, NOTE)


class Examination(NamedTuple):
    """What is wrong with a cluster, worst first, and of one severity that with most objects first.

    :param unfinished: what there was no time to look at.
    :param unread: what could not be looked at, in sentences.
    :param failures: what could not be read.
    :param silenced: findings that annotations of their objects silence, or options; of each the objects that do.
    """

    diagnoses: list[Diagnosis]
    unfinished: list[str]
    unread: list[str]
    failures: list[Failure]
    silenced: Sequence[Diagnosis] = ()

    @property
    def is_complete(self) -> bool:
        """Whether everything has been looked at."""
        return not (self.unfinished or self.unread or self.failures)

    def fails(self, *, warnings_fail: bool) -> bool:
        """Whether something is wrong that is worse than a note, or than a warning unless these fail, too."""
        failing = (ERROR, WARNING) if warnings_fail else (ERROR,)
        return any(each.check.severity in failing for each in self.diagnoses)


def examine(examined: Examined, checks: Checks = ALL_CHECKS) -> Examination:
    """Ask checks."""
    found: list[Diagnosis] = []
    silenced: list[Diagnosis] = []
    unfinished = []
    for subject, check in checks.items():
        try:
            for each in check(examined):
                heard, unheard = _heard(examined, each)
                found += [heard] if heard.objects else []
                silenced += [unheard] if unheard.objects else []
        except OutOfTime:
            unfinished.append(subject)
    found.sort(key=lambda each: (_WORST_FIRST.index(each.check.severity), -len(each.objects)))
    unread = list(consequences(examined.state.unread))
    return Examination(found, unfinished, unread, examined.state.failures, silenced)


def _heard(examined: Examined, diagnosis: Diagnosis) -> tuple[Diagnosis, Diagnosis]:
    """A diagnosis without the objects that silence it, and with these alone.

    :raises OutOfTime: if the time for everything is over.
    """
    examined.limit.check()
    heard: list[Affected] = []
    unheard: list[Affected] = []
    for each in diagnosis.objects:
        (unheard if examined.is_silenced(diagnosis.check, each) else heard).append(each)
    return diagnosis._replace(objects=heard), diagnosis._replace(objects=unheard)
