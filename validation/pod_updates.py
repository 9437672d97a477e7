"""What an update may change in the spec of a pod.

Of a pod that scheduling gates hold back, it may also narrow down the nodes.
"""

from __future__ import annotations

from resourceapi.equality import equal
from resourceapi.field_errors import FORBIDDEN, REQUIRED, Path
from resourceapi.model.meta import NodeSelector, ObjectMeta
from resourceapi.objects import EMPTY, Object
from validation.checks import Checks
from validation.pod_defaults import items_of
from validation.pod_specs import check_image_spaces

MUTABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
REQUIRED_AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"
LABELS = ObjectMeta["labels"].type
TERMS = NodeSelector["nodeSelectorTerms"].type


def check_spec_update(spec: Object, stored: Object, path: Path, checks: Checks) -> None:
    """The change of ``stored`` to ``spec``."""
    for name in ("containers", "initContainers"):
        if len(items_of(spec, name)) != len(items_of(stored, name)):
            checks.report(FORBIDDEN, (*path, name), "", "pod updates may not add or remove containers")
            return
        _check_changed_images(items_of(spec, name), (*path, name), checks)
    _check_gates(items_of(spec, "schedulingGates"), items_of(stored, "schedulingGates"), path, checks)
    is_gated = bool(items_of(stored, "schedulingGates"))
    if is_gated:
        _check_node_selector(spec.get("nodeSelector"), stored.get("nodeSelector"), path, checks)
        _check_affinity(_required_terms(spec), _required_terms(stored), path, checks)
    if not equal(_fixed(spec, is_gated=is_gated), _fixed(stored, is_gated=is_gated)):
        checks.report(FORBIDDEN, path, "", MUTABLE)


def _check_changed_images(containers: list[Object], path: Path, checks: Checks) -> None:
    """Those of any spec have been checked as well: up to 1.30 errors come twice."""
    for index, container in enumerate(containers):
        if not container.get("image"):
            checks.report(REQUIRED, (*path, index, "image"))
        check_image_spaces(container, (*path, index), checks)


def _check_gates(gates: list[Object], stored: list[Object], path: Path, checks: Checks) -> None:
    """Gates are removed, never added."""
    before = {gate.get("name", "") for gate in stored}
    added = {gate.get("name", ""): index for index, gate in enumerate(gates)}
    for name, index in added.items():
        if name not in before:
            detail = f"only deletion is allowed, but found new scheduling gate '{name}'"
            checks.report(FORBIDDEN, (*path, "schedulingGates", index, "name"), "", detail)


def _check_node_selector(
    labels: dict[str, str] | None, stored: dict[str, str] | None, path: Path, checks: Checks
) -> None:
    if not (stored or {}).items() <= (labels or {}).items():
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        checks.invalid((*path, "nodeSelector"), checks.internal(LABELS, labels), detail)


def _required_terms(spec: Object) -> list[Object] | None:
    affinity = spec.get("affinity", EMPTY).get("nodeAffinity", EMPTY)
    terms: list[Object] | None = affinity.get(REQUIRED_AFFINITY, EMPTY).get("nodeSelectorTerms")
    return terms


def _check_affinity(
    terms: list[Object] | None, stored: list[Object] | None, path: Path, checks: Checks
) -> None:
    """Each term may get further requirements, behind those that it has; one without any matches no node."""
    if not stored:
        return
    path = (*path, "affinity", "nodeAffinity", REQUIRED_AFFINITY, "nodeSelectorTerms")
    if terms is None or len(terms) != len(stored):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        checks.invalid(path, checks.internal(TERMS, terms), detail)
        return
    for index, (term, before) in enumerate(zip(terms, stored, strict=True)):
        if not _has_only_additions(term, before):
            shown = checks.internal("NodeSelectorTerm", term)
            checks.invalid((*path, index), shown, "only additions are allowed (no mutations or deletions)")


def _has_only_additions(term: Object, stored: Object) -> bool:
    fields = ("matchExpressions", "matchFields")
    if not any(items_of(stored, name) for name in fields):
        return not any(items_of(term, name) for name in fields)
    return all(
        equal(items_of(term, name)[: len(items_of(stored, name))], items_of(stored, name)) for name in fields
    )


def _fixed(spec: Object, *, is_gated: bool) -> Object:
    """The part of a pod's spec that an update cannot change, or whose changes have been checked."""
    changeable = ["activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates"]
    if is_gated:
        changeable += ["nodeSelector", "affinity"]
    fixed = {name: value for name, value in spec.items() if name not in changeable}
    for name in ("containers", "initContainers"):
        fixed[name] = [
            {field: value for field, value in container.items() if field != "image"}
            for container in items_of(spec, name)
        ]
    if is_gated:
        affinity = spec.get("affinity", EMPTY)
        fixed["affinity"] = {name: value for name, value in affinity.items() if name != "nodeAffinity"}
    return fixed
