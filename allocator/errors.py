"""Why an allocation ends with an error rather than with "does not fit"; the texts are kube-scheduler's."""

from __future__ import annotations

from resourceapi.errors import ClaimcheckError

#: The kinds of errors: other nodes cannot help either, other nodes may.
FATAL, NODE = "fatal", "node"


class AllocationError(ClaimcheckError):
    """A claim or class is bad: kube-scheduler gives up on the pod, whatever other nodes have to offer.

    `fix`: what the author of the claim or class can do about it, if anything is known to help.
    """

    fix = ""


class ExpressionError(AllocationError):
    """A selector fails on a device of the node, be it one that would not be needed."""

    fix = (
        "kube-scheduler evaluates selectors on devices of every node that it looks at: guard what some devices lack "
        "with has(…) &&, or look it up with .? and orValue(…)"
    )


class RefusedDeviceError(AllocationError):
    """A request for all devices comes upon one that a constraint of the claim excludes."""

    fix = (
        "with allocationMode All no node that kube-scheduler looks at may have such a device: select only devices that go "
        "together, or ask for a count"
    )


class UnreadyPoolError(AllocationError):
    """A request for all devices comes upon a pool of which not all is known."""

    fix = "ask for a count instead of allocationMode All, at least until the driver has published the pool completely and without mistakes"


class NodeError(ClaimcheckError):
    """The node cannot be used; other nodes may."""


GAVE_UP = "gave up: too many combinations of devices to decide whether the claims fit"


class SearchLimitError(NodeError):
    """Whether the claims fit on this node would take too long to find out."""

    def __init__(self) -> None:
        super().__init__(GAVE_UP)
