"""ResourceQuota objects: which the server refuses, in its words, and what the others limit."""

from __future__ import annotations

from typing import Any

import pytest

from quota import amounts
from quota.resource_quotas import from_object, review
from resourceapi.releases import Profile
from validation.server import Server

SERVER = Server(Profile())
GPU = "gpu.deviceclass.resource.k8s.io/devices"
QUALIFIED = (
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
    "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def body(hard: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {**({} if hard is None else {"hard": hard}), **spec},
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(body(), [], id="empty"),
        pytest.param(
            body({GPU: 4, "count/resourceclaims.resource.k8s.io": "1k"}), [], id="devices-and-claims"
        ),
        pytest.param(body({"requests.example.com/gpu": "2500m"}), [], id="requests-may-be-fractions"),
        pytest.param(body({"hugepages-2Mi": "1Gi", "requests.storage": "1Ti"}), [], id="standard-names"),
        pytest.param(
            body({GPU: "2500m"}),
            [f'spec.hard[{GPU}]: Invalid value: "2500m": must be an integer'],
            id="fraction",
        ),
        pytest.param(
            body({GPU: "-1"}),
            [f'spec.hard[{GPU}]: Invalid value: "-1": must be greater than or equal to 0'],
            id="negative",
        ),
        pytest.param(
            body({"GPU" + GPU[3:]: "1"}),
            [f'spec.hard[GPU{GPU[3:]}]: Invalid value: "GPU{GPU[3:]}": {QUALIFIED}'],
            id="bad-name",
        ),
        pytest.param(
            body({"resourceclaims": "1"}),
            [
                (
                    'spec.hard[resourceclaims]: Invalid value: "resourceclaims": must be a standard resource type or fully '
                    "qualified"
                ),
                'spec.hard[resourceclaims]: Invalid value: "resourceclaims": must be a standard resource for quota',
            ],
            id="no-such-resource",
        ),
        pytest.param(
            body({"storage": "1"}),
            ['spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota'],
            id="standard-but-not-for-quotas",
        ),
        pytest.param(
            body({"pods": "1"}, scopes=["Odd"]),
            ['spec.scopes: Invalid value: ["Odd"]: unsupported scope'],
            id="unknown-scope",
        ),
        pytest.param(
            body({"secrets": "1", "pods": "1"}, scopes=["BestEffort", "NotBestEffort"]),
            [
                'spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: unsupported scope applied to resource',
                'spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: unsupported scope applied to resource',
                'spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes',
            ],
            id="scopes-that-conflict",
        ),
        pytest.param(
            body(
                {"pods": "1"},
                scopeSelector={"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]},
            ),
            [
                (
                    "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when "
                    "`operator` is 'In' or 'NotIn' for scope selector"
                )
            ],
            id="selector-without-values",
        ),
        pytest.param(
            body(
                {"pods": "1"},
                scopeSelector={"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Like"}]},
            ),
            [
                'spec.scopeSelector.matchExpressions.operator: Invalid value: "Like": not a valid selector operator',
            ],
            id="unknown-operator",
        ),
    ],
)
def test_review(value: dict[str, Any], expected: list[str]) -> None:
    """Names and amounts of the limits, and scopes that go together with them."""
    answer = review(SERVER, value, "team")
    assert [str(error) for error in answer.errors] == expected
    assert answer.code == (422 if expected else 201)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        pytest.param([], 400, id="no-object"),
        pytest.param({**body(), "spec": []}, 400, id="spec-is-a-list"),
        pytest.param(body({GPU: "four"}), 400, id="no-quantity"),
        pytest.param(body({GPU: {}}), 400, id="amount-is-an-object"),
        pytest.param({**body(), "metadata": {}}, 422, id="no-name"),
        pytest.param({**body(), "metadata": {"name": "q", "namespace": "other"}}, 400, id="other-namespace"),
    ],
)
def test_hostile(value: Any, code: int) -> None:
    """Whatever comes is answered."""
    assert review(SERVER, value, "team").code == code


def test_limits_and_usage() -> None:
    """Limits are the spec's; what the status does not mention is unused; amounts are in thousandths at least."""
    value = {
        **body({GPU: "4", "pods": "2", "requests.cpu": "1u"}),
        "status": {"used": {GPU: "3", "secrets": "9"}},
    }
    value["metadata"] |= {"namespace": "team", "uid": "u"}
    quota = from_object(value)
    assert (quota.name, quota.namespace, quota.uid, quota.scopes) == ("q", "team", "u", ())
    assert amounts.written(quota.hard) == {GPU: "4", "pods": "2", "requests.cpu": "1m"}
    assert amounts.written(quota.used) == {GPU: "3", "pods": "0", "requests.cpu": "0"}


def test_scopes_are_selectors() -> None:
    """`scopes` and `scopeSelector` restrict a quota in the same way."""
    expression = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    value = body({"pods": "1"}, scopes=["Terminating"], scopeSelector={"matchExpressions": [expression]})
    assert from_object(value).scopes == ({"scopeName": "Terminating", "operator": "Exists"}, expression)
