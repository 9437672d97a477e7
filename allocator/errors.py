"""Why an allocation ends with an error rather than with "does not fit"; the texts are kube-scheduler's."""

from __future__ import annotations

from resourceapi.errors import ClaimcheckError

#: The kinds of errors: other nodes cannot help either, other nodes may.
FATAL, NODE = "fatal", "node"
#: Said of a node for which a claim of the pod has no devices, though it is allocated.
AWAY = "allocated claim is not available on the node"


class AllocationError(ClaimcheckError):
    """A claim or class is bad: kube-scheduler gives up on the pod, whatever other nodes have to offer.

    `fix`: what the author of the claim or class can do about it, if anything is known to help.
    """

    fix = ""

    def __init__(self, message: str, summary: str = "") -> None:
        """Make an error.

        :param summary: the message without names of devices and pools, if there are any in it.
        """
        super().__init__(message)
        self.summary = summary or message


class ExpressionError(AllocationError):
    """A selector fails on a device of the node, even one that the claim would not get."""

    fix = (
        "kube-scheduler evaluates selectors on the devices of every node that it checks: guard what some devices lack "
        "with has(…) &&, or read it with .? and orValue(…)"
    )


class RefusedDeviceError(AllocationError):
    """A constraint of the claim excludes a device that a request for all devices must have."""

    fix = (
        "with allocationMode All, no node that kube-scheduler checks may have such a device: select only devices that "
        "satisfy the constraint together, or request a count"
    )


class UnreadyPoolError(AllocationError):
    """A request for all devices meets a pool that is incomplete or invalid."""

    fix = "request a count instead of allocationMode All, at least until the driver has published all slices of the pool without errors"


class NodeError(ClaimcheckError):
    """The node cannot be used; other nodes may."""


GAVE_UP = "gave up: too many combinations of devices to decide whether the claims fit"
OUT_OF_TIME = "the time was over before it was decided whether the claims fit"
#: Said of nodes on which the claims may fit or not.
UNDECIDED = frozenset({GAVE_UP, OUT_OF_TIME})


class SearchLimitError(NodeError):
    """Deciding whether the claims fit on this node takes too long."""

    def __init__(self) -> None:
        super().__init__(GAVE_UP)
