"""What kube-apiserver would answer to objects."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from advice.lints.facts import REFERRED, Facts
from claimcheck.answers.cluster_context import ClusterContext, Knowledge
from claimcheck.answers.outcome import Outcome
from claimcheck.answers.stored import StoredObjects
from claimcheck.answers.validate.batch import Batch
from claimcheck.answers.validate.review import Question, Reviewer
from claimcheck.answers.validate.sending import CREATE_ONLY
from claimcheck.inputs import Objects, each_of, manifests_in, manifests_of, profile_of
from resourceapi import releases
from resourceapi.errors import Unanswerable

if TYPE_CHECKING:
    import advice.findings
    from advice.findings import Result
    from claimcheck.clusters import Cluster
    from resourceapi.releases import Profile

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """An error of the server, or a warning or note of the server or of a lint.

    - ``severity``: ``error`` (the server refuses the object), ``warning`` or ``note``.
    - ``code``: the server's reason (``FieldValueInvalid``), what else was refused (``MalformedDocument``), or a lint's code (``CC001``).
    - ``path``: the field, such as ``spec.devices.requests[0].name``; empty for the whole object.
    - ``message``: the server's words, or the lint's.
    - ``hint``: how to fix it; empty if that is not known.
    - ``object``: ``ResourceClaim default/gpu``; what cannot be read is called ``document 1``.
    - ``source``: the file, or what stands for it: ``text``, ``object 2``.
    - ``line``, ``column``: where it is in a text, from 1; None for objects that come from no text.
    - ``foretold``: whether the server reports it only once earlier errors are fixed.
    """

    severity: Severity
    code: str
    path: str
    message: str
    hint: str = ""
    object: str = ""
    source: str = ""
    line: int | None = None
    column: int | None = None
    foretold: bool = False

    def __str__(self) -> str:
        """``claim.yaml:3: error: ResourceClaim default/gpu: spec.x: unknown field``."""
        place = f"{self.source}:{self.line}" if self.line else self.source
        field = f"{self.path}: " if self.path else ""
        return f"{place}: {self.severity}: {self.object}: {field}{self.message}"


def validate(
    objects: Objects,
    *,
    kube_version: str | None = None,
    feature_gates: Mapping[str, bool] | None = None,
    cluster: Cluster | None = None,
    old: Objects = None,
    namespace: str = "default",
    lints: bool = True,
    notes: bool = False,
) -> list[Finding]:
    """What kube-apiserver would answer to requests that create or update objects, and what lints say of them.

    Ignores objects other than those of ``resource.k8s.io``, pods and workloads.

    :param objects: a dictionary, a model of ``kubernetes``, a text in YAML or JSON, a path, or several of these.
    :param kube_version: the release, such as ``"1.34"``; that of the cluster, else the newest one.
    :param feature_gates: gates that differ from the release's defaults, such as ``{"DRAAdminAccess": False}``.
    :param cluster: what exists already: classes, slices, namespaces, nodes.
    :param old: the stored objects, of which ``objects`` are updates; others are created.
    :param namespace: for objects that name none.
    :param lints: run the lints.
    :param notes: include notes: common patterns that may be intended.
    :returns: the findings, in the order of the objects.
    :raises ClaimcheckError: if something cannot be read as an object, or the release is unknown.
    """
    profile = _profile(kube_version, feature_gates, cluster)
    outcome = _outcome(objects, profile, cluster, old, namespace, lints=lints, notes=notes)
    if outcome.failures:
        raise Unanswerable(f"{outcome.failures[0].file}: {outcome.failures[0].message}")
    return [
        _finding(result, finding, foretold=foretold)
        for result in outcome.results
        for findings, foretold in ((result.findings, False), (result.afterwards, True))
        for finding in findings
    ]


def _profile(
    kube_version: str | None, feature_gates: Mapping[str, bool] | None, cluster: Cluster | None
) -> Profile:
    """The server, with the versions of the API that it serves unless it is told otherwise."""
    if cluster is not None and kube_version is None and feature_gates is None:
        profile = cluster.profile.with_all_apis()
    else:
        profile = profile_of(
            kube_version or (None if cluster is None else cluster.kube_version), feature_gates
        )
    profile.apis = releases.parse_runtime_config("", profile.schemas)
    return profile


def _outcome(
    objects: Objects,
    profile: Profile,
    cluster: Cluster | None,
    old: Objects,
    namespace: str,
    *,
    lints: bool,
    notes: bool,
) -> Outcome:
    given = each_of(objects)
    batch = _batch(profile, namespace, cluster, lints=lints)
    for number, each in enumerate(given, 1):
        # what else is in a directory may be no manifest
        is_searched = isinstance(each, os.PathLike) and os.path.isdir(each)
        found = list(manifests_of(each, number, profile))
        batch.named |= set() if is_searched else {manifest.file for manifest in found}
        batch.read(found)
    if cluster is not None:
        existing = _batch(profile, namespace, cluster, lints=lints)
        existing.read_inventory(cluster.manifests)
        batch.know(existing, cluster.unread)
    server = batch.knowledge.server(profile)
    stored = None
    if old is not None:
        stored = StoredObjects(manifests_in(old, profile), server, namespace, "old")
    question = Question(namespace, sender=CREATE_ONLY, notes=notes)
    batch.review(Reviewer(server, batch.knowledge, batch.outcome, question, stored=stored))
    return batch.outcome


def _batch(profile: Profile, namespace: str, cluster: Cluster | None, *, lints: bool) -> Batch:
    facts, is_live = None, cluster is not None and cluster.is_live
    if lints:
        complete = () if cluster is None else REFERRED
        facts = Facts(profile, default_namespace=namespace, complete=complete, is_live=is_live)
    return Batch(Knowledge(ClusterContext(), facts), profile, is_live=is_live)


def _finding(result: Result, finding: advice.findings.Finding, *, foretold: bool) -> Finding:
    severity: Severity = finding.severity  # type: ignore[assignment]
    return Finding(
        severity,
        finding.rule,
        finding.field,
        finding.message,
        finding.hint,
        result.title,
        result.file,
        finding.line or None,
        finding.column if finding.line else None,
        foretold,
    )
