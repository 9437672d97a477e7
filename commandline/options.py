"""Which server a subcommand answers as: the options that say so, and the profile that they make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from commandline.errors import UsageError
from resourceapi.gates import GATES, GateError, parse
from resourceapi.releases import NEWEST, RELEASES, Profile, UnknownRelease

if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    class Arguments(Protocol):
        """A parser, or a group of its options."""

        def add_argument(self, *names: str, **settings: Any) -> Any: ...


def add_server_options(parser: Arguments) -> None:
    """``--kube-version`` and ``--feature-gates``."""
    parser.add_argument(
        "--kube-version",
        metavar="RELEASE",
        default=f"1.{NEWEST}",
        help=f"{', '.join(RELEASES)} (the newest one with what proposals add); default 1.{NEWEST}",
    )
    parser.add_argument(
        "--feature-gates", metavar="A=true,B=false", default="", help="as kube-apiserver takes them"
    )


def profile_of(options: Namespace) -> Profile:
    """The server that these options describe.

    :raises UsageError: for a release or gates that do not exist.
    """
    try:
        return Profile(options.kube_version, parse(options.feature_gates))
    except UnknownRelease as error:
        raise UsageError(f"--kube-version: {error}") from None
    except GateError as error:
        raise UsageError(f"--feature-gates: {error}{_meant_gate(str(error))}") from None


def _meant_gate(message: str) -> str:
    """What may be meant by a gate that is unknown."""
    from resourceapi.nearness import nearest

    meant = nearest(message.partition("unrecognized feature gate: ")[2], GATES)
    return f" (did you mean {meant}?)" if meant else ""
