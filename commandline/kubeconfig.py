"""``--kubeconfig``: the live objects of a cluster instead of files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cluster import live_objects as live
from cluster.client import Client
from cluster.kubeconfig import KubeconfigError, kubeconfig_access
from commandline.errors import UsageError
from commandline.reports.escaping import on_one_line
from commandline.results import Failure
from resourceapi.api_client import Unavailable
from resourceapi.model.versions import GROUP

if TYPE_CHECKING:
    from resourceapi.releases import Profile

TIMEOUT_SECONDS = 30.0


class Unread(Failure):
    """A list of a cluster that could not be read, or only in one namespace.

    :param reason: the server's message.
    :param kind: the kind of the objects.
    :param read_namespace: the namespace whose objects were read; empty if none were.
    """

    __slots__ = ("kind", "read_namespace", "reason")

    def __init__(self, file: str, reason: str, kind: str, read_namespace: str = "") -> None:
        only = f"; only those in the namespace {read_namespace} are known" if read_namespace else ""
        super().__init__(file, reason + only)
        self.kind = kind
        self.read_namespace = read_namespace
        self.reason = reason


class LiveCluster:
    """The cluster of a context in a kubeconfig; ``name`` is that of the context."""

    def __init__(self, kubeconfig: str, context: str) -> None:
        """Read the kubeconfig, without a request to the cluster.

        :param context: empty: the file's current context.
        :raises UsageError: if the file cannot be used.
        """
        try:
            access, self.name = kubeconfig_access(kubeconfig, context)
        except KubeconfigError as error:
            raise UsageError(f"--kubeconfig {kubeconfig}: {on_one_line(str(error))}") from None
        self.client = Client(access, timeout=TIMEOUT_SECONDS)

    def failure(self, error: Unavailable) -> str:
        """The report of a request that failed."""
        if error.code:
            return f"the server answers {error.code} {error.reason}".rstrip()
        return f"no answer from {self.client.server}: {error.reason}"


def live_objects(
    kubeconfig: str,
    context: str,
    profile: Profile,
    namespace: str = "",
    *,
    for_scheduling: bool = False,
    at_least: str = "",
) -> Iterator[live.LiveObject | Failure]:
    """The objects of a cluster, see :func:`cluster.live_objects.live_objects`.

    :param context: the name of a context in the file; empty: its current one.
    :param for_scheduling: whether to read only what the allocator needs.
    :param at_least: where a list of all namespaces is forbidden, that of this one is read.
    :raises UsageError: if the file cannot be used.
    """
    cluster = LiveCluster(kubeconfig, context)
    found = live.live_objects(
        cluster.client,
        cluster.name,
        profile,
        namespace=namespace,
        for_scheduling=for_scheduling,
        fallback_namespace=at_least,
    )
    try:
        for each in found:
            if isinstance(each, live.UnreadList):
                file = f"{cluster.name}/{each.resource}"
                yield Unread(file, cluster.failure(each.error), each.kind, each.namespace)
            else:
                yield each
    except Unavailable as error:
        yield Failure(f"{cluster.name}/{GROUP}", cluster.failure(error))
