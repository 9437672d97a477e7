"""Events about pods that are not scheduled."""

from __future__ import annotations

from cluster.event_writer import EventWriter, Subject
from resourceapi.records.pods import Pod


class PodEvents:
    """What ``kubectl describe pod`` shows of this scheduler."""

    def __init__(self, writer: EventWriter) -> None:
        self._writer = writer

    def warn(self, pod: Pod, note: str) -> None:
        """Say why a pod is not scheduled; the same words once more are counted.

        :param note: in any length and of any characters.
        """
        subject = Subject("v1", "Pod", pod.namespace, pod.name, pod.uid, "Scheduling", "FailedScheduling")
        self._writer.warn(subject, note)
