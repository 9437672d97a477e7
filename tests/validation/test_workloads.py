"""The pod templates of workloads are checked at their paths, with the selector and metadata around them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from resourceapi.model.workloads import KINDS, TEMPLATES
from resourceapi.objects import Object
from resourceapi.releases import Profile
from tests.validation.pod_requests import KEY_NAME, LABEL, SUBDOMAIN, asking, container, post, texts
from validation.requests import Request
from validation.server import Server

SELECTOR = {"matchLabels": {"app": "a"}}
LABELS = {"labels": {"app": "a"}}
VERSIONS = {kind: f"{group}/v1" if group else "v1" for group, kinds in KINDS.items() for kind in kinds}


def workload(kind: str, spec: Object, meta: Object = LABELS, **more: Any) -> Object:
    """A workload with a template; ``more`` are fields of the workload's own spec."""
    template = {"metadata": copy.deepcopy(meta), "spec": copy.deepcopy(spec)}
    obj: Object = {"metadata": {"name": "a"}}
    holder = obj
    for name in TEMPLATES[kind][:-1]:
        holder = holder.setdefault(name, {})
    holder[TEMPLATES[kind][-1]] = template
    if kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"):
        obj["spec"].setdefault("selector", SELECTOR)
    if kind == "CronJob":
        obj["spec"]["schedule"] = "0 * * * *"
    if more:
        obj.setdefault("spec", {}).update(more)
    return obj


def answer_for(kind: str, obj: Object) -> list[str]:
    return texts(post(kind, VERSIONS[kind], obj))


@pytest.mark.parametrize("kind", TEMPLATES)
def test_claims_in_templates(kind: str) -> None:
    """Every kind's template is checked like a pod, at the template's path."""
    spec = asking(claims=[{"name": "b", "request": "main/sub"}])
    if kind in ("Job", "CronJob"):
        spec["restartPolicy"] = "Never"
    path = ".".join(TEMPLATES[kind]) + ".spec.containers[0].resources.claims[0]"
    assert answer_for(kind, workload(kind, spec)) == [
        f'{path}.request: Invalid value: "main/sub": {LABEL}',
        f'{path}: Not found: "b": must be one of the names in pod.spec.resourceClaims: a',
    ]


@pytest.mark.parametrize("kind", TEMPLATES)
def test_unknown_fields_in_templates(kind: str) -> None:
    """A template is decoded strictly."""
    answer = post(kind, VERSIONS[kind], workload(kind, {"containers": [container(resource={})]}))
    path = ".".join(TEMPLATES[kind])
    assert answer.message == (
        f'{kind} in version "v1" cannot be handled as a {kind}: strict decoding error: '
        f'unknown field "{path}.spec.containers[0].resource"'
    )


POD = {"containers": [container()]}
NOT_SELECTED = "`selector` does not match template `labels`"
ERRORS: dict[str, tuple[str, Object, list[str]]] = {
    "deployment-without-selector": (
        "Deployment",
        workload("Deployment", POD, selector=None, replicas=-1, minReadySeconds=-1),
        [
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            "spec.selector: Required value",
            f'spec.template.metadata.labels: Invalid value: {{"app":"a"}}: {NOT_SELECTED}',
            "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
        ],
    ),
    "deployment-that-selects-nothing": (
        "Deployment",
        workload("Deployment", POD, {}),
        [f"spec.template.metadata.labels: Invalid value: null: {NOT_SELECTED}"],
    ),
    "empty-selector": (
        "StatefulSet",
        workload("StatefulSet", POD, selector={}),
        ["spec.selector: Invalid value: {}: empty selector is invalid for statefulset"],
    ),
    "bad-selector": (
        "ReplicaSet",
        workload(
            "ReplicaSet",
            {},
            selector={
                "matchExpressions": [
                    {"key": "a b", "operator": "In"},
                    {"key": "a", "operator": "Exists", "values": ["-"]},
                    {"key": "a", "operator": "Is"},
                ]
            },
        ),
        [
            (
                "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or "
                "'NotIn'"
            ),
            f'spec.selector.matchExpressions[0].key: Invalid value: "a b": {KEY_NAME}',
            (
                "spec.selector.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or "
                "'DoesNotExist'"
            ),
            (
                'spec.selector.matchExpressions[1].values[0]: Invalid value: "-": a valid label must be an empty string '
                "or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
                "character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
                "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
            ),
            'spec.selector.matchExpressions[2].operator: Invalid value: "Is": not a valid selector operator',
            (
                'spec.selector: Invalid value: {"matchExpressions":[{"key":"a b","operator":"In"},{"key":"a","operator":'
                '"Exists","values":["-"]},{"key":"a","operator":"Is"}]}: invalid label selector'
            ),
        ],
    ),
    "expressions-that-do-not-select": (
        "DaemonSet",
        workload(
            "DaemonSet", POD, selector={"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}
        ),
        [f'spec.template.metadata.labels: Invalid value: {{"app":"a"}}: {NOT_SELECTED}'],
    ),
    "template-labels": (
        "PodTemplate",
        workload("PodTemplate", POD, {"labels": {"a b": ""}, "annotations": {"a b": ""}}),
        [
            f'template.labels: Invalid value: "a b": {KEY_NAME}',
            f'template.annotations: Invalid value: "a b": {KEY_NAME}',
        ],
    ),
    "pods-that-end": (
        "DaemonSet",
        workload("DaemonSet", {**POD, "restartPolicy": "Never", "activeDeadlineSeconds": 1}),
        [
            'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
            "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in DaemonSet is not Supported",
        ],
    ),
    "job-that-never-ends": (
        "CronJob",
        workload("CronJob", POD),
        [
            'spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
        ],
    ),
    "replication-controller-without-template": (
        "ReplicationController",
        {"metadata": {"name": "a"}, "spec": {}},
        ["spec.selector: Required value", "spec.template: Required value"],
    ),
    "ephemeral-containers": (
        "Deployment",
        workload("Deployment", {**POD, "ephemeralContainers": [container(name="e")]}),
        [
            "spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template"
        ],
    ),
    "host-name-in-a-stateful-set": (
        "StatefulSet",
        workload("StatefulSet", {**POD, "hostname": "A", "subdomain": "B"}, serviceName="C"),
        [f'spec.serviceName: Invalid value: "C": {LABEL}'],
    ),
    "stateful-set-with-dots": (
        "StatefulSet",
        {**workload("StatefulSet", POD), "metadata": {"name": "a.b"}},
        ['metadata.name: Invalid value: "a.b": must not contain dots'],
    ),
    "replication-controller-name-comes-last": (
        "ReplicationController",
        {**workload("ReplicationController", {}), "metadata": {"name": "A"}},
        ["spec.template.spec.containers: Required value", f'metadata.name: Invalid value: "A": {SUBDOMAIN}'],
    ),
    "cron-job-name-at-its-limit": (
        "CronJob",
        {**workload("CronJob", {**POD, "restartPolicy": "Never"}), "metadata": {"name": "a" * 52}},
        [],
    ),
    "cron-job-name-over-its-limit": (
        "CronJob",
        {**workload("CronJob", {**POD, "restartPolicy": "Never"}), "metadata": {"name": "a" * 53}},
        [f'metadata.name: Invalid value: "{"a" * 53}": must be no more than 52 characters'],
    ),
    "job-name-too-long-for-a-label": (
        "Job",
        {**workload("Job", {**POD, "restartPolicy": "Never"}), "metadata": {"name": "a" * 64}},
        [
            f'metadata.labels: Invalid value: "{"a" * 64}": must be no more than 63 bytes',
            f'spec.template.labels: Invalid value: "{"a" * 64}": must be no more than 63 bytes',
        ],
    ),
}


@pytest.mark.parametrize(("kind", "obj", "errors"), ERRORS.values(), ids=ERRORS)
def test_errors(kind: str, obj: Object, errors: list[str]) -> None:
    """The causes, in the server's order and words."""
    assert answer_for(kind, copy.deepcopy(obj)) == errors


def test_template_defaults_are_not_a_pods() -> None:
    """In a template, requests do not follow from limits, and a negative grace period is only warned about."""
    spec = {**asking(limits={"cpu": 1}), "terminationGracePeriodSeconds": -1}
    answer = post("Deployment", "apps/v1", workload("Deployment", spec))
    assert answer.code == 201
    assert answer.object is not None
    assert answer.object["spec"]["template"]["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}}
    assert answer.warnings == [
        (
            "spec.template.spec.terminationGracePeriodSeconds: must be >= 0; "
            "negative values are invalid and will be treated as 1"
        )
    ]


def test_group_is_in_the_refusal() -> None:
    """Kinds outside of the core group are named with it."""
    answer = post("Deployment", "apps/v1", {"metadata": {"name": "a"}, "spec": {"selector": SELECTOR}})
    assert answer.message.startswith('Deployment.apps "a" is invalid: [')
    assert answer.status()["details"]["group"] == "apps"


@pytest.mark.parametrize("kind", TEMPLATES)
@pytest.mark.parametrize("body", [None, {}, {"spec": None}, {"spec": {}}, {"template": {}}])
def test_empty_bodies(kind: str, body: Object | None) -> None:
    """Nothing that can be decoded makes the program fail."""
    request = Request(
        api_version=VERSIONS[kind],
        kind=kind,
        namespace="default",
        body=copy.deepcopy(body),
        field_validation="Warn",
    )
    assert Server(Profile()).handle(request).code == 422


@pytest.mark.parametrize("kind", TEMPLATES)
def test_warnings_about_names(kind: str) -> None:
    """Kinds whose pods are named after them warn of names that make no host names, but only when they are new."""
    spec = {**asking(), "restartPolicy": "Never" if kind in ("Job", "CronJob") else "Always"}
    obj = workload(kind, spec)
    obj["metadata"]["name"] = "a.b"
    warning = (
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
        "a DNS label is recommended: [must not contain dots]"
    )
    expected = [] if kind in ("PodTemplate", "DaemonSet", "StatefulSet") else [warning]
    answer = post(kind, VERSIONS[kind], obj)
    assert answer.accepted == (kind != "StatefulSet")
    assert answer.warnings == expected


def test_prefixes_of_names() -> None:
    """A StatefulSet's name is a label, so its prefix must be one; that of a ReplicationController is not checked."""
    stateful = workload("StatefulSet", asking())
    stateful["metadata"] = {"generateName": "a."}
    assert answer_for("StatefulSet", stateful) == [
        f'metadata.generateName: Invalid value: "a.": {LABEL}',
        'metadata.name: Invalid value: "a.xxxxx": must not contain dots',
    ]
    plain = workload("ReplicationController", asking())
    plain["metadata"] = {"generateName": "a.."}
    for release in ("1.34", "1.37"):
        answer = post("ReplicationController", "v1", plain, release)
        assert not any("generateName" in error for error in texts(answer))


@pytest.mark.parametrize(
    ("release", "unit", "times"), [("1.34", "characters", 2), ("1.36", "bytes", 2), ("1.37", "bytes", 1)]
)
def test_an_error_is_told_once(release: str, unit: str, times: int) -> None:
    """A name that is wrong in two labels of a job is reported as one since 1.37."""
    spec = {**asking(), "restartPolicy": "Never"}
    obj = {**workload("Job", spec), "metadata": {"name": "a" * 64, "labels": {"k": "v"}}}
    assert (
        texts(post("Job", "batch/v1", obj, release))
        == [f'spec.template.labels: Invalid value: "{"a" * 64}": must be no more than 63 {unit}'] * times
    )
