"""Why an allocation ends with an error rather than with "does not fit"; the texts are kube-scheduler's."""

from __future__ import annotations


class AllocationError(Exception):
    """A claim or class is bad: kube-scheduler gives up on the pod, whatever other nodes have to offer."""


class NodeError(Exception):
    """This node cannot be used; other nodes may."""


GAVE_UP = "gave up: too many combinations of devices to decide whether the claims fit"


class SearchLimitError(NodeError):
    """Whether the claims fit on this node would take too long to find out."""

    def __init__(self) -> None:
        super().__init__(GAVE_UP)
