"""Pods, and pods in templates, are answered as kube-apiserver answers them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from resourceapi.objects import Object
from tests.validation.pod_requests import (
    CLAIM,
    KEY_NAME,
    LABEL,
    NO_LIMIT,
    SUBDOMAIN,
    asking,
    container,
    post,
    post_pod,
    texts,
)
from validation.requests import STATUS, UPDATE, WARN

ERRORS: dict[str, tuple[Object, list[str]]] = {
    "valid": (asking(claims=[{"name": "a", "request": "r"}], limits={"cpu": 1}), []),
    "nothing": ({}, ["spec.containers: Required value"]),
    "empty-container": (
        {"containers": [{}]},
        ["spec.containers[0].name: Required value", "spec.containers[0].image: Required value"],
    ),
    "container-names": (
        {"containers": [container(), container()], "initContainers": [container(), container(name="A.b")]},
        [
            'spec.containers[1].name: Duplicate value: "app"',
            'spec.initContainers[0].name: Duplicate value: "app"',
            f'spec.initContainers[1].name: Invalid value: "A.b": {LABEL}',
        ],
    ),
    "image-with-spaces": (
        {"containers": [container(image=" app")]},
        ['spec.containers[0].image: Invalid value: " app": must not have leading or trailing whitespace'],
    ),
    "claim-without-name-and-source": (
        {"containers": [container()], "resourceClaims": [{}]},
        [
            "spec.resourceClaims[0].name: Required value",
            (
                'spec.resourceClaims[0]: Invalid value: {"Name":"","ResourceClaimName":null,'
                '"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`'
            ),
        ],
    ),
    "claim-with-both-sources": (
        {
            "containers": [container()],
            "resourceClaims": [{"name": "a", "resourceClaimName": "", "resourceClaimTemplateName": "t"}],
        },
        [
            (
                'spec.resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":"","ResourceClaimTemplateName":"t"}'
                ": at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            ),
            f'spec.resourceClaims[0].resourceClaimName: Invalid value: "": {SUBDOMAIN}',
        ],
    ),
    "claim-names": (
        {"containers": [container()], "resourceClaims": [CLAIM, CLAIM, {**CLAIM, "name": "A"}]},
        [
            'spec.resourceClaims[1].name: Duplicate value: "a"',
            f'spec.resourceClaims[2].name: Invalid value: "A": {LABEL}',
        ],
    ),
    "subrequest-in-a-pod": (
        asking(claims=[{"name": "a", "request": "main/sub"}]),
        [f'spec.containers[0].resources.claims[0].request: Invalid value: "main/sub": {LABEL}'],
    ),
    "unknown-claims": (
        asking(claims=[{"name": "b"}, {}]),
        [
            (
                'spec.containers[0].resources.claims[0]: Not found: "b": must be one of the names in '
                "pod.spec.resourceClaims: a"
            ),
            "spec.containers[0].resources.claims[1]: Required value",
        ],
    ),
    "no-claims-at-all": (
        {"containers": [container(resources={"claims": [{"name": "a"}]})]},
        [
            (
                'spec.containers[0].resources.claims[0]: Not found: "a": must be one of the names in '
                "pod.spec.resourceClaims which is empty"
            )
        ],
    ),
    "claim-used-twice": (
        asking(claims=[{"name": "a"}, {"name": "a"}, {"name": "a", "request": "r"}]),
        [
            'spec.containers[0].resources.claims[1]: Duplicate value: "a"',
            'spec.containers[0].resources.claims[2]: Duplicate value: "a"',
        ],
    ),
    "claim-after-its-requests": (
        asking(claims=[{"name": "a", "request": "r"}, {"name": "a", "request": "r"}, {"name": "a"}]),
        [
            'spec.containers[0].resources.claims[1]: Duplicate value: "a/r"',
            'spec.containers[0].resources.claims[2]: Duplicate value: "a"',
        ],
    ),
    "resource-names": (
        asking(limits={"gpu": 1, "requests.cpu": 1, "a_b/c": 1, "kubernetes.io/x": 1}),
        [
            (
                'spec.containers[0].resources.limits[gpu]: Invalid value: "gpu": must be a standard resource type or fully '
                "qualified"
            ),
            (
                'spec.containers[0].resources.limits[gpu]: Invalid value: "gpu": must be a standard resource for '
                "containers"
            ),
            (
                'spec.containers[0].resources.limits[requests.cpu]: Invalid value: "requests.cpu": must be a standard '
                "resource for containers"
            ),
            f'spec.containers[0].resources.limits[a_b/c]: Invalid value: "a_b/c": prefix part {SUBDOMAIN}',
            (
                'spec.containers[0].resources.limits[a_b/c]: Invalid value: "a_b/c": doesn\'t follow extended resource '
                "name standard"
            ),
            (
                'spec.containers[0].resources.requests[gpu]: Invalid value: "gpu": must be a standard resource type or '
                "fully qualified"
            ),
            (
                'spec.containers[0].resources.requests[gpu]: Invalid value: "gpu": must be a standard resource for '
                "containers"
            ),
            (
                'spec.containers[0].resources.requests[requests.cpu]: Invalid value: "requests.cpu": must be a standard '
                "resource for containers"
            ),
            f'spec.containers[0].resources.requests[a_b/c]: Invalid value: "a_b/c": prefix part {SUBDOMAIN}',
            (
                'spec.containers[0].resources.requests[a_b/c]: Invalid value: "a_b/c": doesn\'t follow extended resource '
                "name standard"
            ),
        ],
    ),
    "amounts": (
        asking(limits={"cpu": "-1"}, requests={"cpu": "1", "example.com/gpu": "500m"}),
        [
            'spec.containers[0].resources.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
            'spec.containers[0].resources.requests: Invalid value: "1": must be less than or equal to cpu limit of -1',
            'spec.containers[0].resources.requests[example.com/gpu]: Invalid value: "500m": must be an integer',
            f"spec.containers[0].resources.limits: {NO_LIMIT}",
        ],
    ),
    "extended-resources-are-not-shared": (
        asking(limits={"example.com/gpu": 2}, requests={"example.com/gpu": 1}),
        [
            'spec.containers[0].resources.requests: Invalid value: "1": must be equal to example.com/gpu limit of 2',
        ],
    ),
    "same-error-once": (
        asking(requests={"example.com/a": 1, "example.com/b": 1}),
        [f"spec.containers[0].resources.limits: {NO_LIMIT}"],
    ),
    "huge-pages": (
        asking(limits={"hugepages-2Mi": "3Mi"}),
        [
            (
                'spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer '
                "multiple of hugepages-2Mi"
            ),
            (
                'spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer '
                "multiple of hugepages-2Mi"
            ),
            "spec.containers[0].resources: Forbidden: HugePages require cpu or memory",
        ],
    ),
    "pod-level-resources": (
        {
            "containers": [container(resources={"requests": {"cpu": 2}, "limits": {"cpu": 4}})],
            "resources": {"requests": {"cpu": 1, "example.com/gpu": 1}, "limits": {"cpu": 3}, "claims": []},
        },
        [
            "spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level",
            (
                'spec.resources.requests[example.com/gpu]: Unsupported value: "example.com/gpu": supported values: "cpu", '
                '"hugepages-", "memory"'
            ),
            f"spec.resources.limits: {NO_LIMIT}",
            (
                'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container '
                "requests of 2"
            ),
            (
                'spec.resources.containers[0][cpu].limits: Invalid value: "4": must be less than or equal to pod limits '
                "of 3"
            ),
        ],
    ),
    "init-containers": (
        {
            "containers": [container()],
            "initContainers": [
                container(name="a", lifecycle={}, restartPolicy="X"),
                container(name="b", lifecycle={}, restartPolicy="Always"),
            ],
        },
        [
            (
                'spec.initContainers[0].restartPolicy: Unsupported value: "X": supported values: "Always", "Never", '
                '"OnFailure"'
            ),
            (
                "spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without "
                "restartPolicy=Always"
            ),
        ],
    ),
    "ephemeral-containers": (
        {
            "containers": [container()],
            "ephemeralContainers": [container(targetContainerName="b", resources={"claims": []})],
        },
        [
            'spec.ephemeralContainers[0].name: Duplicate value: "app"',
            'spec.ephemeralContainers[0].targetContainerName: Not found: "b"',
            "spec.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container",
            "spec.ephemeralContainers: Forbidden: cannot be set on create",
        ],
    ),
    "ports": (
        {
            "containers": [
                container(
                    ports=[
                        {"name": "Http--", "hostPort": 65536},
                        {"name": "a", "containerPort": -1, "hostPort": 80, "protocol": "X"},
                        {"name": "a", "containerPort": 65535, "hostPort": 80, "protocol": "X"},
                    ]
                )
            ],
            "hostNetwork": True,
        },
        [
            (
                'spec.containers[0].ports[0].name: Invalid value: "Http--": must contain only alpha-numeric characters '
                "(a-z, 0-9), and hyphens (-)"
            ),
            'spec.containers[0].ports[0].name: Invalid value: "Http--": must not contain consecutive hyphens',
            'spec.containers[0].ports[0].name: Invalid value: "Http--": must not begin or end with a hyphen',
            "spec.containers[0].ports[0].containerPort: Required value",
            "spec.containers[0].ports[0].hostPort: Invalid value: 65536: must be between 1 and 65535, inclusive",
            "spec.containers[0].ports[1].containerPort: Invalid value: -1: must be between 1 and 65535, inclusive",
            'spec.containers[0].ports[1].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
            'spec.containers[0].ports[2].name: Duplicate value: "a"',
            'spec.containers[0].ports[2].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
            'spec.containers[0].ports[2].hostPort: Duplicate value: "X//80"',
            (
                "spec.containers[0].ports[0].hostPort: Invalid value: 65536: must match `containerPort` when `hostNetwork` "
                "is true"
            ),
            (
                "spec.containers[0].ports[1].hostPort: Invalid value: 80: must match `containerPort` when `hostNetwork` is "
                "true"
            ),
            (
                "spec.containers[0].ports[2].hostPort: Invalid value: 80: must match `containerPort` when `hostNetwork` is "
                "true"
            ),
        ],
    ),
    "placement": (
        {
            "containers": [container()],
            "restartPolicy": "Sometimes",
            "dnsPolicy": "X",
            "nodeSelector": {"bad key": "b"},
            "nodeName": "A",
            "serviceAccountName": "A",
            "activeDeadlineSeconds": 0,
            "schedulingGates": [{"name": "a"}, {"name": "a"}],
        },
        [
            'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
            (
                'spec.dnsPolicy: Unsupported value: "X": supported values: "ClusterFirstWithHostNet", "ClusterFirst", '
                '"Default", "None"'
            ),
            f'spec.nodeSelector: Invalid value: "bad key": {KEY_NAME}',
            'spec.schedulingGates[1]: Duplicate value: "a"',
            f'spec.serviceAccountName: Invalid value: "A": {SUBDOMAIN}',
            f'spec.nodeName: Invalid value: "A": {SUBDOMAIN}',
            "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
        ],
    ),
}


@pytest.mark.parametrize(("spec", "errors"), ERRORS.values(), ids=ERRORS)
def test_errors(spec: Object, errors: list[str]) -> None:
    """The causes, in the server's order and words."""
    assert texts(post_pod(copy.deepcopy(spec))) == errors


def test_message_and_details() -> None:
    """A refusal names the pod; the core group has no name."""
    answer = post_pod({})
    assert answer.message == 'Pod "pod" is invalid: spec.containers: Required value'
    assert answer.status()["details"] == {
        "name": "pod",
        "kind": "Pod",
        "causes": [{"reason": "FieldValueRequired", "message": "Required value", "field": "spec.containers"}],
    }


def test_static_pods_have_no_claims() -> None:
    """A mirror pod must be on a node, and cannot use claims; the error has no field."""
    meta = {"name": "pod", "annotations": {"kubernetes.io/config.mirror": "x"}}
    answer = post("Pod", "v1", {"metadata": meta, "spec": asking()})
    assert texts(answer) == [
        (
            'metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": '
            "must set spec.nodeName if mirror pod annotation is set"
        ),
        "[]: Forbidden: static pods do not support resource claims",
    ]


def test_restart_policies_before_1_35() -> None:
    """Containers had no restart policy of their own; only Always makes an init container a sidecar."""
    spec = {
        "containers": [container(restartPolicy="X")],
        "initContainers": [
            container(name="a", restartPolicy="X"),
            container(name="b", restartPolicy="Always"),
        ],
    }
    answer = post_pod(spec, "1.34")
    assert texts(answer) == []
    assert answer.object is not None
    assert "restartPolicy" not in answer.object["spec"]["initContainers"][0]
    assert answer.object["spec"]["initContainers"][1]["restartPolicy"] == "Always"


DEFAULTS: dict[str, tuple[str, Object, Object]] = {
    "requests-from-limits": (
        "1.37",
        {
            "containers": [
                container(resources={"limits": {"cpu": "1", "memory": "2000"}, "requests": {"cpu": "0.5"}})
            ]
        },
        {
            "containers": [
                {
                    "resources": {
                        "limits": {"cpu": "1", "memory": "2k"},
                        "requests": {"cpu": "500m", "memory": "2k"},
                    }
                }
            ]
        },
    ),
    "amounts-are-rounded-up": (
        "1.37",
        {"containers": [container(resources={"requests": {"cpu": "1.0001", "memory": None}})]},
        {"containers": [{"resources": {"requests": {"cpu": "1001m", "memory": "0"}}}]},
    ),
    "pod-resources-from-containers": (
        "1.37",
        {
            "containers": [container(resources={"limits": {"cpu": "1"}})],
            "initContainers": [container(name="a", resources={"limits": {"cpu": "3"}})],
            "resources": {"requests": {"memory": "1Gi"}},
        },
        {"resources": {"limits": {"cpu": "3"}, "requests": {"cpu": "3", "memory": "1Gi"}}},
    ),
    "pod-resources-in-1.36": (
        "1.36",
        {
            "containers": [
                container(resources={"requests": {"cpu": "1"}}),
                container(name="b", restartPolicy="Always"),
            ],
            "initContainers": [
                container(name="a", restartPolicy="Always", resources={"requests": {"cpu": "1"}})
            ],
            "resources": {"limits": {"memory": "1Gi", "cpu": "4"}},
        },
        {"resources": {"limits": {"cpu": "4", "memory": "1Gi"}, "requests": {"cpu": "2", "memory": "1Gi"}}},
    ),
    "pod-resources-stay-incomplete-in-1.36": (
        "1.36",
        {
            "containers": [container(resources={"limits": {"cpu": "1"}})],
            "resources": {"requests": {"memory": "1Gi"}},
        },
        {"resources": {"requests": {"memory": "1Gi"}}},
    ),
    "image-pull-policy": (
        "1.37",
        {
            "containers": [
                container(image="a/b:latest"),
                container(name="b", image="c:5000/a"),
                container(name="c"),
            ]
        },
        {
            "containers": [
                {"imagePullPolicy": "Always"},
                {"imagePullPolicy": "Always"},
                {"imagePullPolicy": "IfNotPresent"},
            ]
        },
    ),
    "service-account": (
        "1.37",
        {"containers": [container()], "serviceAccount": "a", "terminationGracePeriodSeconds": -5},
        {"serviceAccount": "a", "serviceAccountName": "a", "terminationGracePeriodSeconds": 1},
    ),
}


@pytest.mark.parametrize(("release", "spec", "expected"), DEFAULTS.values(), ids=DEFAULTS)
def test_defaults(release: str, spec: Object, expected: Object) -> None:
    """What the server fills in, as far as it is returned about resources, claims and containers."""
    answer = post_pod(copy.deepcopy(spec), release)
    assert texts(answer) == []
    assert answer.object is not None
    returned = answer.object["spec"]
    for name, value in expected.items():
        if name == "containers":
            got = [{key: has[key] for key in wants} for has, wants in zip(returned[name], value, strict=True)]
            assert got == value
        else:
            assert returned[name] == value


def test_warnings() -> None:
    """An accepted pod comes with warnings; a refused one with those of decoding only."""
    spec = asking(limits={"memory": "0.5"})
    spec["nodeSelector"] = {"beta.kubernetes.io/arch": "x"}
    answer = post("Pod", "v1", {"metadata": {"name": "a.b"}, "spec": spec})
    assert answer.warnings == [
        (
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; "
            "a DNS label is recommended: [must not contain dots]"
        ),
        'spec.nodeSelector[beta.kubernetes.io/arch]: deprecated since v1.14; use "kubernetes.io/arch" instead',
        'spec.containers[0].resources.limits[memory]: fractional byte value "500m" is invalid, must be an integer',
        'spec.containers[0].resources.requests[memory]: fractional byte value "500m" is invalid, must be an integer',
    ]
    refused = post_pod({"bogus": 1}, field_validation=WARN)
    assert (refused.code, refused.warnings) == (422, ['unknown field "spec.bogus"'])


def test_decoding() -> None:
    """Fields are known at any depth, and claims are no bare strings."""
    answer = post_pod({"containers": [container(livenessProbe={"httpGet": {"porg": 1}})]})
    assert answer.message == (
        'Pod in version "v1" cannot be handled as a Pod: strict decoding error: '
        'unknown field "spec.containers[0].livenessProbe.httpGet.porg"'
    )
    answer = post_pod(asking(claims=["a"]))
    assert answer.message == (
        'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field '
        "ResourceRequirements.spec.containers.resources.claims of type v1.ResourceClaim"
    )


def test_other_kinds_of_the_groups_are_not_served() -> None:
    """Only pods and the kinds that hold a template are known."""
    assert post("Pod", "apps/v1", {}).code == 404
    assert post("Service", "v1", {}).code == 404


def stored(obj: Object, **changes: Any) -> Object:
    changed = copy.deepcopy(obj)
    changed.update(changes)
    return changed


def test_update_of_a_pod() -> None:
    """An image may change, resources may not."""
    old = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod", "namespace": "default"},
        "spec": asking(),
    }
    image = stored(old, spec={**asking(), "containers": [container(image="b:2")]})
    assert post("Pod", "v1", image, verb=UPDATE, old=old).code == 200
    resources = stored(old, spec=asking(limits={"cpu": 1}))
    answer = post("Pod", "v1", resources, verb=UPDATE, old=old)
    assert [(error.field, error.kind) for error in answer.errors] == [("spec", "FieldValueForbidden")]
    assert answer.errors[0].detail.startswith(
        "pod updates may not change fields other than `spec.containers[*].image`"
    )


def test_update_of_a_pod_as_stored() -> None:
    """What admission has filled in when the pod was created need not be repeated, nor what is empty."""
    old = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod", "namespace": "default"}}
    old["spec"] = {**asking(), "priority": 0, "preemptionPolicy": "Never", "containers": [container()]}
    spec = {**asking(), "containers": [container(resources={"claims": []})]}
    assert post("Pod", "v1", stored(old, spec=spec), verb=UPDATE, old=old).code == 200


@pytest.mark.parametrize("field", ["containers", "initContainers"])
def test_containers_of_a_pod_stay(field: str) -> None:
    """An update that adds a container is refused for that alone."""
    spec: dict[str, Any] = asking()
    old = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod", "namespace": "default"},
        "spec": spec,
    }
    more = [*spec.get(field, []), container(name="more")]
    answer = post("Pod", "v1", stored(old, spec={**asking(), field: more}), verb=UPDATE, old=old)
    assert [str(error) for error in answer.errors] == [
        f"spec.{field}: Forbidden: pod updates may not add or remove containers"
    ]


def test_status_of_a_pod() -> None:
    """A request to /status leaves the spec alone."""
    old = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod", "namespace": "default"},
        "spec": asking(),
    }
    answer = post("Pod", "v1", stored(old, spec={}), verb=STATUS, old=old)
    assert answer.code == 200
    assert answer.object is not None
    assert answer.object["spec"]["resourceClaims"] == [CLAIM]
