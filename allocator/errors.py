"""Why an allocation ends with an error rather than with "does not fit"; the texts are kube-scheduler's."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from resourceapi.errors import ClaimcheckError

#: The kinds of errors: other nodes cannot help either; other nodes may; other nodes may, but not that pods leave this one.
FATAL, NODE, UNRESOLVABLE = "fatal", "node", "unresolvable"
#: Said of a node for which a claim of the pod has no devices, though it is allocated.
AWAY = "allocated claim is not available on the node"


class Named(Protocol):
    """A claim."""

    @property
    def name(self) -> str: ...  # noqa: D102 - as of ClaimHeader


class Placed(Protocol):
    """A device or a pool."""

    @property
    def id(self) -> tuple[str, ...]: ...  # noqa: D102 - as of Device and Pool


class Mention(NamedTuple):
    """A device or pool that a text names after some words.

    :param otherwise: what stands there where the text is about all nodes.
    :param short: whether the device is named without its driver and pool.
    """

    words: str
    what: Placed
    otherwise: str = ""
    short: bool = False


class Quotation(NamedTuple):
    """Words that may quote what a device has.

    :param otherwise: what stands there where the text is about all nodes.
    """

    words: str
    otherwise: str


Text = tuple["str | Named | Mention | Quotation", ...]
"""Words, claims that are named there, and what is on the node."""


def in_words(text: Text) -> str:
    """The text for the claims and the node that it is about."""
    return "".join([_in_words(each) for each in text])


def _in_words(part: str | Named | Mention | Quotation) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Quotation):
        return part.words
    return naming(part.words, part.what, short=part.short) if isinstance(part, Mention) else part.name


def naming(words: str, what: Placed, *, short: bool) -> str:
    """Words with the name of a device or pool; see :class:`Mention`."""
    return f"{words}{what.id[-1] if short else what.id}"


class AllocationError(ClaimcheckError):
    """A claim or class is bad: kube-scheduler gives up on the pod, whatever other nodes have to offer.

    `fix`: what the author of the claim or class can do about it, if anything is known to help.
    """

    fix = ""

    def __init__(self, *text: str | Named | Mention | Quotation) -> None:
        """Make an error with this text; see `Text`."""
        super().__init__(in_words(text))
        self.text = text


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


class CrashError(AllocationError):
    """kube-scheduler panics, which ends it; when it comes up again, the pod is still there.

    :param reason: what Go's runtime says.
    """

    fix = "this claim crashes kube-scheduler of this release again and again: delete it, or update kube-scheduler"

    def __init__(self, reason: str) -> None:
        super().__init__(f"panic: runtime error: {reason}")


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
