"""Random sequences of requests in a namespace with a ResourceQuota, in the format of the corpus's `quota.jsonl`."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from resourceapi.objects import Object
from tests.conformance.answers import Case, expectation
from tests.conformance.profiles import PROFILES
from tests.corpus.parts import Parts, in_version
from tests.e2e.client import Answer
from tests.e2e.control_plane import ApiServer

_CLASSES = {
    "gpu": "",
    "nic.example.com": "",
    "9": "",
    "ext": "example.com/gpu",
    "ext2": "a.test/acc",
    "late": "",
}
_ABSENT = "gone"
_EXTENDED = ("example.com/gpu", "a.test/acc", "deviceclass.resource.kubernetes.io/gpu")
_AMOUNTS = ("0", "1", "2", "3", "5", "10", "32", "33", "64", "1k", "1000", "100", "2500m", "-1")
_COUNTED = (
    "count/resourceclaims.resource.k8s.io",
    "count/resourceclaimtemplates.resource.k8s.io",
    "count/pods",
    "pods",
    "requests.cpu",
)
# Classes and quotas are watched by the server, which therefore knows of new ones only after a while.
_SETTLED_SECONDS = 2.0
_CLASSES_SEEN_SECONDS = 10.0
_QUOTA_SEEN_SECONDS = 0.4
_PATIENCE_SECONDS = 180.0
_SETTLING = "quota-classes"
_NOT_SEEN = "status unknown for quota"


def device_classes() -> list[Object]:
    """The classes of all cases; two of them stand for extended resources."""
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": name},
            "spec": {"extendedResourceName": extended} if extended else {},
        }
        for name, extended in _CLASSES.items()
    ]


def quota_cases(profile: str, seed: int | str, count: int) -> Iterator[Case]:
    """`count` cases without what the server answers; the same seed gives the same ones."""
    for number in range(count):
        source = random.Random(f"quota {seed} {profile} {number}")
        admin = source.random() < 0.5
        yield {
            "id": f"quota-{profile}-{seed}-{number:04}",
            "profile": profile,
            "deviceClasses": device_classes(),
            "namespace": f"quota-{number}",
            "namespaceLabels": {"resource.kubernetes.io/admin-access": "true"} if admin else {},
            "hard": _hard(source),
            "steps": [_step(source, profile, admin) for _ in range(source.randint(1, 5))],
        }


def _hard(source: random.Random) -> dict[str, str]:
    classes = [*_CLASSES, _ABSENT]
    resources = [
        *(f"{name}.deviceclass.resource.k8s.io/devices" for name in classes),
        *(f"requests.deviceclass.resource.kubernetes.io/{name}" for name in classes),
        *(f"requests.{_CLASSES[name]}" for name in ("ext", "ext2")),
        *_COUNTED,
    ]
    amounts = _AMOUNTS if source.random() < 0.1 else _AMOUNTS[:-2]
    hard = {name: source.choice(amounts) for name in source.sample(resources, source.randint(1, 6))}
    wrong = [name for name, amount in hard.items() if amount in _AMOUNTS[-2:]]
    for name in wrong[1:]:  # errors about several would come in any order
        hard[name] = "1"
    return hard


def _step(source: random.Random, profile: str, admin: bool) -> Object:
    kind = source.choices(("ResourceClaim", "ResourceClaimTemplate", "Pod"), weights=(80, 8, 12))[0]
    version = "v1" if kind == "Pod" else source.choice(PROFILES[profile].served[kind])
    parts = Parts(source, admin=admin)
    spec = _pod_spec(source) if kind == "Pod" else _claim_spec(parts)
    object = {
        "apiVersion": version if kind == "Pod" else f"resource.k8s.io/{version}",
        "kind": kind,
        "metadata": {"name": source.choice("abcdefgh")},
        "spec": {"spec": spec} if kind == "ResourceClaimTemplate" else spec,
    }
    step = {"apiVersion": object["apiVersion"], "kind": kind, "object": in_version(kind, version, object)}
    return {**step, "dryRun": True} if source.random() < 0.1 else step


def _claim_spec(parts: Parts) -> Object:
    spec = parts.claim_spec()
    for request in spec["devices"].get("requests", ()):
        for details in (request.get("exactly"), *request.get("firstAvailable", ())):
            if details:
                details["deviceClassName"] = parts.source.choice([*_CLASSES, _ABSENT])
                if details.get("count", 1) > 100:
                    details["count"] = parts.source.choice((3, 2**40, 2**62))
    return spec


def _pod_spec(source: random.Random) -> Object:
    def container(name: str) -> Object:
        amounts: Object = {"cpu": source.choice(("1", "500m"))}
        for resource in source.sample(_EXTENDED, source.randint(0, 2)):
            amounts[resource] = str(source.randint(0, 4))
        return {"name": name, "image": "i", "resources": {"requests": amounts, "limits": dict(amounts)}}

    spec: Object = {"containers": [container(f"c{n}") for n in range(source.randint(1, 2))]}
    if source.random() < 0.4:
        spec["initContainers"] = [container(f"i{n}") for n in range(source.randint(1, 2))]
        if source.random() < 0.5:
            spec["initContainers"][0]["restartPolicy"] = "Always"
    return spec


# --- asking the server


class QuotaProber:
    """Asks one server; creates the device classes."""

    def __init__(self, server: ApiServer) -> None:
        self._client = server.client
        for device_class in device_classes():
            self._client.ask("POST", "/apis/resource.k8s.io/v1/deviceclasses", device_class)
        time.sleep(_SETTLED_SECONDS)
        self._wait_for_classes()

    def _wait_for_classes(self) -> None:
        """Wait until claims of classes count as extended resources; without their gate none ever does."""
        self._client.ask("POST", "/api/v1/namespaces", {"kind": "Namespace", "metadata": {"name": _SETTLING}})
        extended = {name: resource for name, resource in _CLASSES.items() if resource}
        self._add_quota(_SETTLING, {f"requests.{resource}": "0" for resource in extended.values()})
        deadline = time.monotonic() + _CLASSES_SEEN_SECONDS
        while time.monotonic() < deadline and not all(map(self._is_counted, extended)):
            time.sleep(0.1)

    def _is_counted(self, device_class: str) -> bool:
        request = {"name": "r", "exactly": {"deviceClassName": device_class}}
        claim = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c"},
            "spec": {"devices": {"requests": [request]}},
        }
        path = f"/apis/resource.k8s.io/v1/namespaces/{_SETTLING}/resourceclaims"
        return "exceeded quota" in str(self._client.ask("POST", path, claim, {"dryRun": "All"}).body)

    def _add_quota(self, namespace: str, hard: dict[str, str]) -> Answer:
        """Create a quota of which nothing is used, as kube-controller-manager would say."""
        quotas = f"/api/v1/namespaces/{namespace}/resourcequotas"
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "quota"}}
        created = self._client.ask("POST", quotas, {**quota, "spec": {"hard": hard}})
        if created.code == 201:
            status = {"hard": hard, "used": dict.fromkeys(hard, "0")}
            self._client.ask("PUT", f"{quotas}/quota/status", {**created.body, "status": status})
        return created

    def record(self, cases: Iterable[Case], threads: int = 4) -> Iterator[Case]:
        """The cases with the server's answers and what was used of the quota after each step."""
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(self._probe, cases)

    def _probe(self, case: Case) -> Case:
        name = case["namespace"]
        metadata = {"name": name, "labels": case["namespaceLabels"]}
        self._client.ask("POST", "/api/v1/namespaces", {"kind": "Namespace", "metadata": metadata})
        quotas = f"/api/v1/namespaces/{name}/resourcequotas"
        created = self._add_quota(name, case["hard"])
        recorded = {**case, "quotaExpect": _expected(created)}
        if created.code == 201:
            recorded["initialUsed"] = self._used(quotas)
            time.sleep(_QUOTA_SEEN_SECONDS)
        recorded["steps"] = [self._step(case, step, quotas) for step in case["steps"]]
        return recorded

    def _step(self, case: Case, step: Object, quotas: str) -> Object:
        root = f"/apis/{step['apiVersion']}" if "/" in step["apiVersion"] else f"/api/{step['apiVersion']}"
        path = f"{root}/namespaces/{case['namespace']}/{step['kind'].lower()}s"
        query = {"fieldValidation": "Strict"} | ({"dryRun": "All"} if step.get("dryRun") else {})
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while _NOT_SEEN in str((answer := self._client.ask("POST", path, step["object"], query)).body):
            assert time.monotonic() < deadline, answer.body
            time.sleep(0.1)
        return {**step, "expect": _expected(answer), "usedAfter": self._used(quotas)}

    def _used(self, quotas: str) -> Any:
        quota = self._client.ask("GET", f"{quotas}/quota")
        return quota.body["status"].get("used") if quota.code == 200 else None


def _expected(answer: Answer) -> dict[str, Any]:
    status = answer.body if answer.code >= 400 else None
    expect = expectation(answer.code, case={"object": None}, status=status, warnings=answer.warnings)
    expect.pop("object", None)
    return expect
