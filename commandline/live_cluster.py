"""``--live``: the cluster of a kubeconfig, chosen as kubectl chooses it, and its objects."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

from claimcheck.answers.outcome import Failure, NoAnswer, Unread
from cluster import live_objects as live
from cluster.access import Access, in_cluster
from cluster.budget import Budget
from cluster.client import Client
from cluster.context_access import NOBODY_ELSE, Impersonation, access_of
from cluster.kubeconfig import VARIABLE, Kubeconfig, KubeconfigError, kubeconfig_files
from commandline.errors import UsageError
from commandline.options import settle_namespace
from commandline.reports.escaping import complain, on_one_line
from resourceapi.api_client import FORBIDDEN, TooMuch, Unavailable
from resourceapi.manifests import entries, text
from resourceapi.model.versions import CLASSIC_VERSION, GROUP, SCHEMAS
from resourceapi.releases import CLASSIC, MODERN_RELEASES, PROPOSALS

if TYPE_CHECKING:
    from argparse import Namespace

    from commandline.resource_names import ObjectName
    from resourceapi.releases import Profile

TIMEOUT_SECONDS = 30.0
UNAUTHORIZED, NOT_FOUND = 401, 404
#: The name of the cluster that a pod is in, which has no context.
IN_CLUSTER = "in-cluster"
_READ_LESS = "read less of the cluster: -n NAMESPACE, or files with --inventory instead of --live"
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|h|m|s))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class LiveCluster:
    """A cluster that the options choose.

    ``name``: that of its context.  ``namespace``: the context's; may be empty.  ``source``: where its address comes from.
    ``unreachable``: why it does not answer, once that is known.
    """

    def __init__(self, options: Namespace) -> None:
        """Read kubeconfigs, without a request to the cluster.

        :raises UsageError: if they cannot be used.
        """
        timeout = seconds(options.request_timeout)
        self.unreachable: Unavailable | None = None
        chosen = _chosen(options)
        self.name, self.namespace, self.source = chosen.name, chosen.namespace, chosen.source
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
            complain(
                f"claimcheck: the cluster runs Kubernetes 1.{minor[:4]}; this is the answer of 1.{nearest}"
            )
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

    def object(self, profile: Profile, wanted: ObjectName, namespace: str) -> live.LiveObject:
        """One object, or one workload.

        :raises UsageError: with the server's answer if it cannot be read.
        """
        kind, name = wanted
        try:
            return live.live_object(
                self.client, self.name, profile, kind=kind, namespace=namespace, name=name
            )
        except Unavailable as error:
            where = f" in the namespace {namespace}" if error.code == NOT_FOUND else ""
            raise UsageError(f"{wanted}: {self.failure(error)}{where}") from None


def cluster_of(options: Namespace, *, classic: bool = False) -> LiveCluster:
    """The cluster that the options ask for.

    Fills in the namespace and the release that the options leave open, as the context and the cluster say.

    :param classic: whether the release of classic DRA may be asked about.
    :raises UsageError: for a kubeconfig that cannot be used.
    """
    cluster = LiveCluster(options)
    settle_namespace(options, cluster.namespace)
    options.kube_version = options.kube_version or cluster.release(classic=classic)
    return cluster


def seconds(duration: str) -> float:
    """The time that a value of ``--request-timeout`` allows for an answer, as kubectl reads it: ``30``, ``30s``, ``1m30s``.

    :raises UsageError: if it is no duration, or none at all: nothing waits for ever.
    """
    if not duration:
        return TIMEOUT_SECONDS
    if duration.isascii() and duration.isdigit():
        found = float(duration[:9])
    elif _DURATION.fullmatch(duration):
        found = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(duration))
    else:
        found = 0.0
    if not 0 < found < 1e6:
        raise UsageError(f"--request-timeout {duration}: expected a time above 0 such as 30s or 1m")
    return found


class _Chosen(NamedTuple):
    access: Access
    name: str
    namespace: str
    source: str


def _chosen(options: Namespace) -> _Chosen:
    given = options.kubeconfig
    files = kubeconfig_files(os.environ) if given is None else [given]
    source = f"--kubeconfig {given}" if given is not None else ", ".join(files)
    whom = Impersonation(
        options.impersonate or "", tuple(options.impersonate_groups), options.impersonate_uid or ""
    )
    try:
        config = Kubeconfig(files)
        if given is None and config.is_empty and not (files and options.kube_context):
            return _of_pod(files, whom)
        context = config.context(options.kube_context)
        access = access_of(context, impersonation=whom, tell=complain)
    except KubeconfigError as error:
        reason = f"{source}: {str(error).removeprefix(f'{given}: ')}"
        raise UsageError(reason, error.hint) from None
    return _Chosen(access, context.name, context.namespace, source)


def _of_pod(files: list[str], whom: Impersonation) -> _Chosen:
    """Access as the service account of the pod that this is run in."""
    try:
        found = in_cluster(os.environ)
    except OSError as error:
        raise UsageError(f"the service account of this pod cannot be used: {error}") from None
    if found is not None:
        if whom != NOBODY_ELSE:
            raise UsageError("--as is for clusters of a kubeconfig, not for the service account of a pod")
        return _Chosen(found[0], IN_CLUSTER, found[1], IN_CLUSTER)
    if files:
        raise UsageError(f"{', '.join(files)}: no cluster in this kubeconfig")
    named = os.environ.get(VARIABLE, "")
    missing = (
        f"${VARIABLE} names no file that exists ({on_one_line(named)})"
        if named
        else "there is no ~/.kube/config"
    )
    raise UsageError(f"no cluster to ask: {missing}; name a kubeconfig with --kubeconfig FILE")
