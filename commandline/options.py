"""Options that several subcommands share, each declared once, and the release that they choose."""

from __future__ import annotations

import os
from argparse import SUPPRESS
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from commandline.errors import UsageError
from commandline.terminal import AUTO, CHOICES
from resourceapi import releases
from resourceapi.gates import GATES, UNRELEASED_GATES, GateError, parse
from resourceapi.measured import CLASSIC_MINOR, MODERN_MINORS, NEWEST, measured
from resourceapi.names import is_dots
from resourceapi.releases import (
    CLASSIC,
    MODERN_RELEASES,
    PROPOSALS,
    Profile,
    RuntimeConfigError,
    UnknownRelease,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import Protocol

    class Arguments(Protocol):
        """A parser, or a group of its options."""

        def add_argument(self, *names: str, **settings: Any) -> Any:
            """Add an option, as :meth:`argparse.ArgumentParser.add_argument` does."""


DEFAULT_NAMESPACE = "default"
#: The formats of every subcommand but ``validate`` and ``manifests``.
FORMATS = ("text", "json")
HTML = "html"


def add_paths(
    parser: Arguments, contents: str = "manifests in YAML or JSON", *, metavar: str = "FILE|DIR|-"
) -> None:
    """``FILE|DIR|-`` and ``--filename``: the manifests that a subcommand works on, in ``options.paths`` in the end.

    :param contents: what the files contain.
    :param metavar: the forms that an argument can have.
    """
    parser.add_argument("paths", nargs="*", metavar=metavar, help=f"{contents}; - reads standard input")
    parser.add_argument(
        "-f",
        "--filename",
        metavar="FILE|DIR|-",
        action="append",
        default=[],
        help="like arguments; several are separated by commas; can be repeated",
    )
    parser.add_argument(
        "--exclude",
        metavar="GLOB",
        action="append",
        default=[],
        help="leave out files and directories with such a name, or such a path if it has a /; can be repeated",
    )
    # Directories are searched as with kubectl's option in any case.
    parser.add_argument("-R", "--recursive", action="store_true", help=SUPPRESS)


def gather_paths(options: Namespace) -> None:
    """Put the values of ``--filename`` in front of the other files."""
    named: list[str] = []
    for value in getattr(options, "filename", ()):
        named += [value] if os.path.exists(value) else [part for part in value.split(",") if part]
    if named:
        options.paths = named + options.paths


def insist_on_paths(options: Namespace) -> None:
    """Check that there are files to work on.

    :raises UsageError: if there are none.
    """
    if not options.paths:
        raise UsageError("no input: name files or directories, or - for standard input")


def add_config(parser: Arguments) -> None:
    """``--config`` and ``--no-config``: where options are set that the command line does not name."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        default="",
        help="read options from this file; default: .claimcheck.yaml in the working directory or above, up to the top of "
        "the repository",
    )
    parser.add_argument("--no-config", action="store_true", help="read no options from a file")


def add_color(parser: Arguments) -> None:
    """``--color``: whether the text for people is in color."""
    parser.add_argument(
        "--color",
        choices=CHOICES,
        default=AUTO,
        help="color text; auto: on terminals without NO_COLOR, and everywhere with FORCE_COLOR or CLICOLOR_FORCE; "
        "default: auto",
    )


def add_server_options(parser: Arguments, *, classic: bool = False) -> None:
    """``--kube-version`` and ``--feature-gates``: the server to answer as.

    :param classic: whether the release of classic DRA can be asked.
    """
    releases = ", ".join(f"1.{minor} ({measured(minor)})" for minor in MODERN_MINORS)
    if classic:
        releases = f"{CLASSIC} ({measured(CLASSIC_MINOR)}; classic DRA, v1alpha2), {releases}"
    parser.add_argument(
        "--kube-version",
        metavar="RELEASE",
        default="",
        help=f"the release to answer as, with its measured patch release: {releases}, or {PROPOSALS}, the newest one with "
        f"fields of enhancement proposals; default: that of a live cluster, else 1.{NEWEST}",
    )
    parser.add_argument(
        "--feature-gates",
        metavar="A=true,B=false",
        default="",
        help="feature gates, written as for kube-apiserver",
    )


def add_runtime_config(parser: Arguments) -> None:
    """``--runtime-config``: which versions of the API the server serves."""
    parser.add_argument(
        "--runtime-config",
        metavar="VERSION=true,…",
        help="versions of the API that the server serves beside the stable ones, written as for kube-apiserver: "
        "resource.k8s.io/v1beta1=true, or api/all=true for every version; default: for a live cluster, asked as "
        "the release that it runs, the versions that it serves",
    )


def add_namespace(parser: Arguments) -> None:
    """``--namespace``: where objects belong that do not name a namespace."""
    parser.add_argument(
        "-n",
        "--namespace",
        metavar="NAMESPACE",
        help="namespace of objects that do not name one; others are refused, as by kubectl; "
        f"default: that of the context, else {DEFAULT_NAMESPACE}",
    )


def add_namespace_labels(parser: Arguments) -> None:
    """``--namespace-labels``: labels that are not in the manifests."""
    parser.add_argument(
        "--namespace-labels",
        metavar="[NAMESPACE:]K=V,…",
        action="append",
        default=[],
        help="labels of one namespace, or of all of them",
    )


def add_inventory(parser: Arguments, help: str) -> None:
    """``--inventory``: files with objects that exist in the cluster already.

    :param help: which objects matter to the subcommand.
    """
    parser.add_argument("--inventory", metavar="DIR", action="append", default=[], help=help)


def add_cluster(parser: Arguments, help: str) -> None:
    """``--live`` and the options of kubectl that choose a cluster and a user.

    :param help: what the subcommand does with the cluster.
    """
    parser.add_argument(
        "--live",
        action="store_true",
        help=f"{help}: the one of $KUBECONFIG, else of ~/.kube/config, else the one in which this command runs",
    )
    parser.add_argument("--kubeconfig", metavar="FILE", help="--live with the cluster of this file")
    parser.add_argument(
        "--context",
        dest="kube_context",
        metavar="NAME",
        default="",
        help="--live with this context of the kubeconfig; default: its current context",
    )
    parser.add_argument("--as", dest="impersonate", metavar="USER", help="ask the cluster as this user")
    parser.add_argument(
        "--as-group",
        dest="impersonate_groups",
        metavar="GROUP",
        action="append",
        default=[],
        help="with --as: a group of the user; can be repeated",
    )
    parser.add_argument("--as-uid", dest="impersonate_uid", metavar="UID", help="with --as: the user's UID")
    parser.add_argument(
        "--request-timeout",
        metavar="TIME",
        default="",
        help="how long to wait for each answer of the cluster, such as 10s or 1m; default: 30s",
    )


def names_cluster(options: Namespace) -> bool:
    """Whether the command line says that there is a live cluster, or which."""
    live, file = getattr(options, "live", False), getattr(options, "kubeconfig", None)
    return bool(live or file is not None or getattr(options, "kube_context", ""))


def asks_for_cluster(options: Namespace) -> bool:
    """Whether the options of :func:`add_cluster` choose a cluster.

    :raises UsageError: if some of them need one, and none is chosen.
    """
    if names_cluster(options):
        return True
    for option, given in (
        ("--as", options.impersonate),
        ("--as-group", options.impersonate_groups),
        ("--as-uid", options.impersonate_uid),
        ("--request-timeout", options.request_timeout),
    ):
        if given:
            raise UsageError(f"{option} is about a live cluster: add --live")
    return False


def settle_namespace(options: Namespace, of_context: str = "") -> None:
    """Fill in the namespace; ``namespace_given`` is what the user has written, empty for nothing.

    :param of_context: the namespace of the cluster's context.
    :raises UsageError: for one that no namespace is called.
    """
    options.namespace_given = options.namespace or ""
    options.namespace = options.namespace_given or of_context or DEFAULT_NAMESPACE
    if is_dots(options.namespace):
        raise UsageError(f"invalid namespace \"{options.namespace}\": [may not be '{options.namespace}']")


def add_rewriting(parser: ArgumentParser) -> None:
    """Add the options that say what becomes of rewritten files (:func:`commandline.rewriting.result_of`)."""
    parser.add_argument("-i", "--in-place", action="store_true", help="rewrite the files themselves")
    parser.add_argument(
        "--check",
        action="store_true",
        help="write no file: list those that would change, and exit with 1 if there are any",
    )
    parser.add_argument(
        "--diff", action="store_true", help="write no file: show what would change, and exit as with --check"
    )


def add_output(parser: Arguments, formats: Iterable[str] = FORMATS) -> None:
    """``--output``: the format of the report; the first one is the default."""
    choices = tuple(formats)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FORMAT",
        choices=choices,
        default=choices[0],
        help=f"{', '.join(choices[:-1])} or {choices[-1]}; default: {choices[0]}",
    )


def profile_of(options: Namespace, *, apis: str | None = None, classic: bool = False) -> Profile:
    """The release and feature gates that the options of :func:`add_server_options` choose.

    :param apis: the value of ``--runtime-config``; None if it does not matter which versions the server serves.
    :param classic: whether the release of classic DRA can be asked.
    :raises UsageError: for a release, gates or versions that do not exist.
    """
    try:
        profile = Profile(options.kube_version or f"1.{NEWEST}", parse(options.feature_gates))
        if apis is not None:
            profile.apis = releases.parse_runtime_config(apis, profile.schemas)
    except RuntimeConfigError as error:
        raise UsageError(f"--runtime-config: {error}") from None
    except UnknownRelease as error:
        raise UsageError(f"--kube-version: {error}") from None
    except GateError as error:
        raise UsageError(f"--feature-gates: {error}{_suggested_gate(str(error))}") from None
    if profile.is_classic and not classic:
        known = ", ".join(MODERN_RELEASES)
        raise UsageError(
            f"--kube-version: only `claimcheck validate` answers as {CLASSIC}; use one of {known}"
        )
    return profile


def _suggested_gate(message: str) -> str:
    from resourceapi.phrases import nearest

    meant = nearest(message.partition("unrecognized feature gate: ")[2], (*GATES, *UNRELEASED_GATES))
    return f" (did you mean {meant}?)" if meant else ""
