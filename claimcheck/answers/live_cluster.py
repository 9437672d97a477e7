"""A live cluster: that of a kubeconfig, chosen as kubectl chooses it, and its objects."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple
from warnings import warn

from claimcheck.answers.outcome import Failure, NoAnswer, Unread
from cluster import live_objects as live
from cluster.access import Access, in_cluster
from cluster.budget import Budget
from cluster.client import Client
from cluster.context_access import NOBODY_ELSE, Impersonation, access_of
from cluster.kubeconfig import VARIABLE, Kubeconfig, KubeconfigError, kubeconfig_files
from resourceapi.api_client import FORBIDDEN, TooMuch, Unavailable
from resourceapi.errors import Unanswerable
from resourceapi.manifests import entries, text
from resourceapi.model.versions import CLASSIC_VERSION, GROUP, SCHEMAS
from resourceapi.releases import CLASSIC, MODERN_RELEASES, PROPOSALS

if TYPE_CHECKING:
    from resourceapi.releases import Profile

TIMEOUT_SECONDS = 30.0
UNAUTHORIZED, NOT_FOUND = 401, 404
#: The name of the cluster that a pod is in, which has no context.
IN_CLUSTER = "in-cluster"
_READ_LESS = "read less of the cluster: -n NAMESPACE, or files with --inventory instead of --live"


class Chosen(NamedTuple):
    """A cluster with how to reach it, before it is asked. ``source``: where its address comes from."""

    access: Access
    name: str
    namespace: str
    source: str


class LiveCluster:
    """A cluster that has been chosen.

    ``name``: that of its context.  ``namespace``: the context's; may be empty.  ``source``: where its address comes from.
    ``unreachable``: why it does not answer, once that is known.
    """

    def __init__(
        self, chosen: Chosen, timeout: float = TIMEOUT_SECONDS, tell: Callable[[str], None] = warn
    ) -> None:
        """Make no request to the cluster.

        :param timeout: how long to wait for each answer, in seconds.
        :param tell: is told what the user should know beside answers.
        """
        self.unreachable: Unavailable | None = None
        self.name, self.namespace, self.source = chosen.name, chosen.namespace, chosen.source
        self.tell = tell
        self._budget = Budget()
        self.client = Client(chosen.access, timeout=timeout, budget=self._budget)

    def release(self, *, classic: bool = False) -> str:
        """The release that the cluster runs, or the nearest one that is known; empty if it does not say.

        :param classic: whether the release of classic DRA may be asked about.
        """
        try:
            code, version = self.client.request("GET", "/version")
        except Unavailable as error:
            self.unreachable = error
            return ""
        if code != 200 or not isinstance(version, dict):
            return ""
        # a server may answer as an older release than it is
        minor = str(version.get("emulationMinor") or version.get("minor") or "").rstrip("+")
        if not minor.isascii() or not minor.isdigit() or version.get("major") != "1":
            return ""
        if classic and f"1.{minor}" == CLASSIC:
            return CLASSIC
        known = [int(release.partition(".")[2]) for release in MODERN_RELEASES if release != PROPOSALS]
        nearest = min(max(int(minor[:4]), min(known)), max(known))
        if nearest != int(minor[:4]):
            self.tell(f"the cluster runs Kubernetes 1.{minor[:4]}; this is the answer of 1.{nearest}")
        return f"1.{nearest}"

    def runtime_config(self, release: str) -> str:
        """The ``--runtime-config`` that makes a server serve the versions that the cluster serves; empty if it does not say.

        :param release: the one that is asked about.
        """
        if self.unreachable is not None:
            return ""
        try:
            code, group = self.client.request("GET", f"/apis/{GROUP}")
        except Unavailable as error:
            self.unreachable = error
            return ""
        if code != 200 or not isinstance(group, dict):
            return ""
        known = (CLASSIC_VERSION,) if release == CLASSIC else tuple(SCHEMAS)
        served = {text(entry, "version") for entry in entries(group, "versions")}
        return ",".join(f"{GROUP}/{version}={str(version in served).lower()}" for version in known)

    def failure(self, error: Unavailable) -> str:
        """The report of a request that failed."""
        if error.code == UNAUTHORIZED:
            return (
                f"the server answers 401 {error.reason}: it does not accept the credentials of this context"
            )
        if error.code:
            return f"the server answers {error.code} {error.reason}".rstrip()
        if isinstance(error, TooMuch):
            return f"no more is read of {self.client.server}: {error.reason}; {_READ_LESS}"
        return f"no answer from {self.client.server}: {error.reason}"

    def objects(
        self,
        profile: Profile,
        namespace: str = "",
        *,
        kinds: Collection[str] | None = None,
        at_least: str = "",
    ) -> Iterator[live.LiveObject | Failure]:
        """The objects of the cluster, see :func:`cluster.live_objects.live_objects`.

        :param at_least: where a list of all namespaces is forbidden, that of this one is read.
        """
        try:
            if self.unreachable is not None:
                raise self.unreachable
            for each in live.live_objects(
                self.client,
                self.name,
                profile,
                namespace=namespace,
                kinds=kinds,
                fallback_namespace=at_least,
                budget=self._budget,
            ):
                if isinstance(each, live.UnreadList):
                    file = f"{self.name}/{each.resource}"
                    yield Unread(
                        file,
                        self.failure(each.error),
                        each.kind,
                        each.namespace,
                        is_forbidden=each.error.code == FORBIDDEN,
                    )
                else:
                    yield each
        except Unavailable as error:
            yield NoAnswer(f"{self.name}/{GROUP}", self.failure(error))

    def object(self, profile: Profile, wanted: tuple[str, str], namespace: str) -> live.LiveObject:
        """One object, or one workload.

        :raises Unanswerable: with the server's answer if it cannot be read.
        """
        kind, name = wanted
        try:
            return live.live_object(
                self.client, self.name, profile, kind=kind, namespace=namespace, name=name
            )
        except Unavailable as error:
            where = f" in the namespace {namespace}" if error.code == NOT_FOUND else ""
            raise Unanswerable(f"{wanted}: {self.failure(error)}{where}") from None


def choose(
    kubeconfig: str | None = None,
    context: str = "",
    whom: Impersonation = NOBODY_ELSE,
    *,
    named_by: str = "",
    tell: Callable[[str], None] = warn,
) -> Chosen:
    """The cluster of a kubeconfig or, if there is none, of the pod that this is run in; none is asked yet.

    :param kubeconfig: a file; None: those of ``$KUBECONFIG``, else ``~/.kube/config``.
    :param context: the name of one; empty: the current one.
    :param named_by: what names the file, such as an option, for messages.
    :param tell: is told what the user should know beside answers.
    :raises Unanswerable: if none can be used.
    """
    files = kubeconfig_files(os.environ) if kubeconfig is None else [kubeconfig]
    source = f"{named_by} {kubeconfig}".lstrip() if kubeconfig is not None else ", ".join(files)
    try:
        config = Kubeconfig(files)
        if kubeconfig is None and config.is_empty and not (files and context):
            return _of_pod(files, whom)
        found = config.context(context)
        access = access_of(found, impersonation=whom, tell=tell)
    except KubeconfigError as error:
        reason = f"{source}: {str(error).removeprefix(f'{kubeconfig}: ')}"
        raise Unanswerable(reason, error.hint) from None
    return Chosen(access, found.name, found.namespace, source)


def _of_pod(files: list[str], whom: Impersonation) -> Chosen:
    """Access as the service account of the pod that this is run in."""
    try:
        found = in_cluster(os.environ)
    except OSError as error:
        raise Unanswerable(f"the service account of this pod cannot be used: {error}") from None
    if found is not None:
        if whom != NOBODY_ELSE:
            raise Unanswerable("--as is for clusters of a kubeconfig, not for the service account of a pod")
        return Chosen(found[0], IN_CLUSTER, found[1], IN_CLUSTER)
    if files:
        raise Unanswerable(f"{', '.join(files)}: no cluster in this kubeconfig")
    named = os.environ.get(VARIABLE, "")
    missing = f"${VARIABLE} names no file that exists ({named})" if named else "there is no ~/.kube/config"
    raise Unanswerable(f"no cluster to ask: {missing}; name a kubeconfig with --kubeconfig FILE")
