"""Valid objects of every kind, put together at random; in the form of v1 first, then in the version asked for."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from resourceapi.model.claims import FLAT_VERSIONS
from resourceapi.objects import Object
from tests.corpus.tables import EXPRESSIONS

_DRIVERS = ("gpu.example.com", "nic.example.org", "d", "x9.dra.test")
_CLASSES = ("gpu", "gpu.example.com", "a.b.c", "large-gpu", "9")
_WORDS = ("train", "infer", "batch", "node-pool", "edge", "a", "0-main")
_QUANTITIES = (
    "1",
    "2",
    "1Gi",
    "80Gi",
    "1500m",
    "0",
    "1e3",
    "10M",
    "0.5",
    "1024Ki",
    "2.5k",
    4,
    1.5,
    "123456789",
)
_TIMES = ("2026-01-02T03:04:05Z", "2025-12-31T23:59:59+01:00", "2026-06-01T00:00:00.5Z")
_UIDS = tuple(f"a1b2c3d4-0000-4000-8000-00000000000{n}" for n in range(8))
_DETAILS = (
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
    "derivedAttributes",
)


class Parts:
    """Makes valid parts of objects; everything random comes from `source`.

    `admin`: the objects are for a namespace in which admin access may be asked for.
    """

    def __init__(self, source: random.Random, *, admin: bool = False) -> None:
        self.source = source
        self.admin = admin

    def chance(self, probability: float) -> bool:
        return self.source.random() < probability

    def some(self, least: int, most: int, make: Callable[[int], Any]) -> list[Any]:
        return [make(index) for index in range(self.source.randint(least, most))]

    def few(self, least: int, most: int, make: Callable[[int], Any]) -> list[Any]:
        """Like `some`, mostly short."""
        most = most if self.chance(0.05) else min(most, least + 2)
        return self.some(least, most, make)

    def maybe(self, probability: float, target: Object, field: str, make: Callable[[], Any]) -> None:
        if self.chance(probability):
            target[field] = make()

    def word(self) -> str:
        return f"{self.source.choice(_WORDS)}-{self.source.randrange(1000)}"

    def driver(self) -> str:
        return self.source.choice(_DRIVERS)

    def quantity(self) -> Any:
        return self.source.choice(_QUANTITIES)

    def attribute(self, *, qualified: bool = True) -> str:
        name = self.source.choice(("model", "numa", "a_b", "X9", "pcieRoot", "_x"))
        return f"{self.driver()}/{name}" if qualified or self.chance(0.3) else name

    # --- metadata

    def metadata(self, name: str = "") -> Object:
        metadata: Object = {"name": name or self.word()}
        self.maybe(
            0.15,
            metadata,
            "labels",
            lambda: self.source.choice(({"app": "x"}, {"a.b/c": "D_e.f-g"}, {"e": ""})),
        )
        self.maybe(0.1, metadata, "annotations", lambda: {"note": "any thing: ü", "a.b/c": "{}"})
        self.maybe(0.04, metadata, "finalizers", lambda: ["example.com/hold"])
        self.maybe(0.04, metadata, "ownerReferences", self.owners)
        self.maybe(0.02, metadata, "generateName", lambda: "gen-")
        return metadata

    def owners(self) -> list[Object]:
        owner = {
            "apiVersion": "apps/v1",
            "kind": "Job",
            "name": self.word(),
            "uid": self.source.choice(_UIDS),
        }
        self.maybe(0.5, owner, "controller", lambda: self.chance(0.5))
        self.maybe(0.3, owner, "blockOwnerDeletion", lambda: True)
        return [owner]

    # --- claims

    def claim_spec(self) -> Object:
        devices: Object = {"requests": self.few(1, 32, self.request)}
        names = [request["name"] for request in devices["requests"]]
        names += [
            f"{r['name']}/{s['name']}" for r in devices["requests"] for s in r.get("firstAvailable", ())
        ]
        self.maybe(0.35, devices, "constraints", lambda: self.few(1, 32, lambda _: self.constraint(names)))
        if self.chance(0.85):
            self.constrain_derived(devices)
        self.maybe(0.3, devices, "config", lambda: self.few(1, 32, lambda _: self.configuration(names)))
        if self.chance(0.02):
            return {"devices": {}}
        return {"devices": devices}

    def request(self, index: int) -> Object:
        name = f"{self.source.choice(('main', 'req', 'nic', '0'))}-{index}"
        if self.chance(0.62):
            return {"name": name, "exactly": self.request_details(exactly=True)}
        return {"name": name, "firstAvailable": self.few(1, 8, self.subrequest)}

    def subrequest(self, index: int) -> Object:
        return {"name": f"sub-{index}", **self.request_details(exactly=False)}

    def request_details(self, *, exactly: bool) -> Object:
        details: Object = {"deviceClassName": self.source.choice(_CLASSES)}
        self.maybe(0.3, details, "selectors", lambda: self.few(1, 32, self.selector))
        self.maybe(0.4, details, "allocationMode", lambda: self.source.choice(("ExactCount", "All")))
        if details.get("allocationMode") != "All":
            self.maybe(0.4, details, "count", lambda: self.source.choice((1, 2, 8, 100, 2**40)))
        if exactly:
            self.maybe(0.15, details, "adminAccess", lambda: self.admin or self.chance(0.1))
        self.maybe(0.2, details, "tolerations", lambda: self.few(1, 16, self.toleration))
        self.maybe(0.2, details, "capacity", lambda: {"requests": self.quantities()})
        self.maybe(0.12, details, "derivedAttributes", lambda: self.few(1, 32, self.derived))
        return details

    def selector(self, _: int) -> Object:
        return {"cel": {"expression": self.source.choice(EXPRESSIONS)}}

    def constrain_derived(self, devices: Object) -> None:
        """A derived attribute must be in some constraint."""
        details = [
            d for r in devices["requests"] for d in (r.get("exactly"), *r.get("firstAvailable", ())) if d
        ]
        for name in sorted(
            {each["name"] for detail in details for each in detail.get("derivedAttributes", ())}
        ):
            devices.setdefault("constraints", []).append({"matchAttribute": name})

    def derived(self, index: int) -> Object:
        expression = self.source.choice(('"x"', "1", "true", 'device.driver + "/a"'))
        return {"name": f"derived.example.com/a{index}", "expression": expression}

    def quantities(self) -> Object:
        return {self.attribute(qualified=False): self.quantity() for _ in range(self.source.randint(1, 3))}

    def toleration(self, _: int) -> Object:
        key = self.source.choice(("example.com/gone", "maintenance", "a.b/C_d"))
        toleration: Object = {"key": key, "operator": "Exists"}
        if self.chance(0.4):
            toleration |= {"operator": "Equal", "value": self.source.choice(("", "v", "A_b.c"))}
        elif self.chance(0.2):
            del toleration["key"]
        elif self.chance(0.2):
            toleration = {"key": key, "value": "v"}
        self.maybe(0.7, toleration, "effect", lambda: self.source.choice(("NoSchedule", "NoExecute")))
        if toleration.get("effect") == "NoExecute":
            self.maybe(0.4, toleration, "tolerationSeconds", lambda: self.source.choice((0, 300, -1)))
        return toleration

    def constraint(self, names: list[str]) -> Object:
        constraint: Object = {}
        self.maybe(0.6, constraint, "requests", lambda: self.references(names))
        field = self.source.choices(("matchAttribute", "distinctAttribute"), weights=(70, 30))[0]
        constraint[field] = self.attribute()
        return constraint

    def configuration(self, names: list[str]) -> Object:
        configuration: Object = {"opaque": self.opaque()}
        self.maybe(0.6, configuration, "requests", lambda: self.references(names))
        return configuration

    def references(self, names: list[str]) -> list[str]:
        return self.source.sample(names, self.source.randint(1, min(3, len(names))))

    def opaque(self) -> Object:
        parameters: Object = self.source.choice(
            (
                {},
                {
                    "kind": "GpuConfig",
                    "apiVersion": "gpu.example.com/v1",
                    "sharing": {"strategy": "MPS", "n": 2},
                },
                {"z": [1, 2.5, None, {"b": "<&>"}], "a": "ü\u2028"},
                {"deep": {"er": {"still": []}}},
            )
        )
        return {"driver": self.driver(), "parameters": parameters}

    # --- status of a claim

    def claim_status(self, spec: Object, driver: str | None = None) -> Object:
        driver = driver or self.driver()
        names = []
        for request in spec.get("devices", {}).get("requests") or ():
            subrequests = request.get("firstAvailable") or ()
            names += (
                [f"{request['name']}/{sub['name']}" for sub in subrequests]
                if subrequests
                else [request["name"]]
            )
        results = [self.result(name, driver, index) for index, name in enumerate(names[:32])]
        status: Object = {"allocation": {"devices": {"results": results}}}
        allocation = status["allocation"]
        self.maybe(
            0.3, allocation["devices"], "config", lambda: self.few(1, 64, lambda _: self.allocated(names))
        )
        self.maybe(0.4, allocation, "nodeSelector", lambda: self.node_selector())
        self.maybe(0.3, allocation, "allocationTimestamp", lambda: self.source.choice(_TIMES))
        self.maybe(0.4, status, "reservedFor", lambda: self.few(1, 256, self.consumer))
        self.maybe(0.4, status, "devices", lambda: [self.device_status(result) for result in results[:4]])
        if self.chance(0.08):
            del status["allocation"]
        return status

    def result(self, name: str, driver: str, index: int) -> Object:
        pool = self.source.choice(("node-a", "rack/1", "fabric.example.com/a"))
        result: Object = {"request": name, "driver": driver, "pool": pool, "device": f"dev-{index}"}
        self.maybe(0.1, result, "adminAccess", lambda: self.chance(0.7))
        self.maybe(0.15, result, "tolerations", lambda: self.few(1, 16, self.toleration))
        if self.chance(0.15):
            result["bindingConditions"] = self.few(1, 4, lambda n: f"example.com/ready-{n}")
            result["bindingFailureConditions"] = self.few(1, 4, lambda n: f"failed-{n}")
        if self.chance(0.2):
            result["shareID"] = _UIDS[index % len(_UIDS)]
            result["consumedCapacity"] = self.quantities()
        self.maybe(0.1, result, "skipNodeOperations", self.skipped)
        return result

    def skipped(self) -> list[str]:
        operations = ["NodeUnprepareResources", "NodePrepareResources"]
        return operations[: self.source.randint(1, 2)]

    def allocated(self, names: list[str]) -> Object:
        source = self.source.choice(("FromClaim", "FromClass"))
        configuration = self.configuration(names) if names else {"opaque": self.opaque()}
        return {"source": source, **configuration}

    def consumer(self, index: int) -> Object:
        consumer: Object = {"resource": "pods", "name": f"pod-{index}", "uid": f"uid-{index}"}
        self.maybe(0.2, consumer, "apiGroup", lambda: "scheduling.k8s.io")
        return consumer

    def device_status(self, result: Object) -> Object:
        status: Object = {
            key: result[key] for key in ("driver", "pool", "device", "shareID") if key in result
        }
        self.maybe(0.5, status, "conditions", lambda: self.few(1, 8, self.condition))
        self.maybe(0.4, status, "data", lambda: self.opaque()["parameters"])
        self.maybe(0.4, status, "networkData", self.network_data)
        return status

    def network_data(self) -> Object:
        data: Object = {}
        self.maybe(0.7, data, "interfaceName", lambda: "net1")
        self.maybe(
            0.7, data, "ips", lambda: self.source.choice((["10.9.8.7/24"], ["fd00::1/64", "10.0.0.1/8"]))
        )
        self.maybe(0.5, data, "hardwareAddress", lambda: "ea:9f:cb:40:b8:01")
        return data

    def condition(self, index: int) -> Object:
        condition: Object = {
            "type": self.source.choice((f"Ready{index}", f"example.com/attached-{index}")),
            "status": self.source.choice(("True", "False", "Unknown")),
            "reason": self.source.choice(("Attached", "A_b:c", "x1")),
            "message": self.source.choice(("", "all is well", "üñ")),
            "lastTransitionTime": self.source.choice(_TIMES),
        }
        self.maybe(0.2, condition, "observedGeneration", lambda: self.source.randrange(3))
        return condition

    # --- classes and taint rules

    def class_spec(self) -> Object:
        spec: Object = {}
        self.maybe(0.7, spec, "selectors", lambda: self.few(1, 32, self.selector))
        self.maybe(0.4, spec, "config", lambda: self.few(1, 32, lambda _: {"opaque": self.opaque()}))
        names = ("example.com/gpu", "a.b.example.com/x_y.z-1", "deviceclass.example.com/a")
        self.maybe(0.3, spec, "extendedResourceName", lambda: self.source.choice(names))
        return spec

    def taint(self) -> Object:
        taint: Object = {"key": self.source.choice(("example.com/broken", "k", "a.b/C_d"))}
        taint["effect"] = self.source.choice(("NoSchedule", "NoExecute", "NoSchedule", "None"))
        self.maybe(0.5, taint, "value", lambda: self.source.choice(("v", "", "A_b.c")))
        self.maybe(0.5, taint, "timeAdded", lambda: self.source.choice(_TIMES))
        return taint

    def taint_rule_spec(self) -> Object:
        spec: Object = {"taint": self.taint()}
        selector: Object = {}
        self.maybe(0.7, selector, "driver", self.driver)
        self.maybe(0.6, selector, "pool", lambda: self.source.choice(("node-a", "rack/1")))
        self.maybe(0.6, selector, "device", lambda: "dev-1")
        self.maybe(0.85, spec, "deviceSelector", lambda: selector)
        return spec

    def taint_rule_status(self) -> Object:
        return {"conditions": self.few(1, 8, self.condition)}

    # --- requests for the status of pools

    def pool_status_request_spec(self) -> Object:
        spec: Object = {"driver": self.driver()}
        self.maybe(0.4, spec, "poolName", lambda: self.source.choice(("node-a", "rack/1")))
        self.maybe(0.5, spec, "limit", lambda: self.source.choice((1, 100, 1000)))
        self.maybe(0.3, spec, "defaultPartitionTypeAttribute", self.attribute)
        return spec

    def pool_status_request_status(self) -> Object:
        status: Object = {"poolCount": self.source.choice((0, 1, 2**31 - 1))}
        self.maybe(0.8, status, "pools", lambda: self.some(1, 3, lambda _: self.pool_status()))
        self.maybe(0.6, status, "conditions", lambda: self.few(1, 10, self.condition))
        return status

    def pool_status(self) -> Object:
        status: Object = {
            "driver": self.driver(),
            "poolName": self.source.choice(("node-a", "rack/1")),
            "generation": self.source.choice((1, 7, 10**12)),
        }
        for name in ("totalDevices", "allocatedDevices", "availableDevices", "unavailableDevices"):
            self.maybe(0.6, status, name, lambda: self.source.choice((0, 1, 8)))
        self.maybe(0.5, status, "resourceSliceCount", lambda: self.source.choice((1, 2)))
        self.maybe(0.3, status, "nodeName", lambda: "node-a")
        self.maybe(0.2, status, "validationError", lambda: "2 of 3 slices are published")
        self.maybe(0.4, status, "partitionSummary", lambda: self.few(1, 32, self.partition_type))
        self.maybe(0.4, status, "shareableSummary", self.shareable_summary)
        return status

    def partition_type(self, index: int) -> Object:
        counts = {"total": self.source.choice((0, 8)), "allocatable": self.source.choice((0, 4))}
        return {"attribute": "gpu.example.com/profile", "type": f"type-{index}", **counts}

    def shareable_summary(self) -> Object:
        summary: Object = {
            "fullyAvailableDevices": self.source.choice((0, 2)),
            "partiallyAvailableDevices": self.source.choice((0, 1)),
        }
        self.maybe(0.7, summary, "capacity", lambda: self.few(1, 32, self.shareable_capacity))
        return summary

    def shareable_capacity(self, index: int) -> Object:
        return {
            "name": f"c-{index}",
            **{name: self.quantity() for name in ("total", "consumed", "available")},
        }

    # --- patches of slices

    def slice_patch_spec(self) -> Object:
        devices: Object = {}
        self.maybe(0.8, devices, "filter", self.patch_filter)
        self.maybe(0.5, devices, "priority", lambda: self.source.choice((0, 1, -7, 2**63 - 1)))
        self.maybe(
            0.7,
            devices,
            "attributes",
            lambda: {self.attribute(): self.nullable_value() for _ in range(self.source.randint(1, 4))},
        )
        self.maybe(
            0.5,
            devices,
            "capacity",
            lambda: {f"{self.driver()}/c{n}": self.capacity(policy=self.chance(0.3)) for n in range(3)},
        )
        return {"devices": devices}

    def patch_filter(self) -> Object:
        filter: Object = {}
        self.maybe(0.4, filter, "deviceClassName", lambda: self.source.choice(_CLASSES))
        self.maybe(0.6, filter, "driver", self.driver)
        self.maybe(0.4, filter, "pool", lambda: self.source.choice(("node-a", "rack/1")))
        self.maybe(0.4, filter, "device", lambda: "dev-1")
        self.maybe(0.4, filter, "selectors", lambda: self.few(1, 32, self.selector))
        return filter

    def nullable_value(self) -> Object:
        return {"null": {}} if self.chance(0.2) else self.attribute_value()

    # --- pods

    def pod_spec(self) -> Object:
        names = [f"claim-{index}" for index in range(self.source.randint(1, 4))]
        spec: Object = {"containers": self.few(1, 4, lambda n: self.container(f"app-{n}", names))}
        if self.chance(0.3):
            spec["initContainers"] = self.few(1, 3, lambda n: self.init_container(f"init-{n}", names))
        spec["resourceClaims"] = [self.pod_claim(name) for name in names]
        self.maybe(0.1, spec, "nodeName", lambda: "node-a")
        self.maybe(0.1, spec, "nodeSelector", lambda: {"kubernetes.io/hostname": "node-a"})
        self.maybe(0.15, spec, "restartPolicy", lambda: self.source.choice(("Always", "Never", "OnFailure")))
        self.maybe(0.1, spec, "resources", self.pod_resources)
        return spec

    def pod_claim(self, name: str) -> Object:
        fields = ("resourceClaimName", "resourceClaimTemplateName")
        return {"name": name, self.source.choice(fields): self.source.choice(("gpu", "my.claim", "t-9"))}

    def init_container(self, name: str, claims: list[str]) -> Object:
        container = self.container(name, claims)
        self.maybe(0.3, container, "restartPolicy", lambda: "Always")
        return container

    def container(self, name: str, claims: list[str]) -> Object:
        container: Object = {"name": name, "image": "registry.example.com/app:1"}
        used = [{"name": claim} for claim in self.source.sample(claims, self.source.randint(0, len(claims)))]
        for claim in used:
            self.maybe(0.3, claim, "request", lambda: "main")
        resources = self.resources()
        if used or self.chance(0.2):
            resources["claims"] = used
        self.maybe(0.9, container, "resources", lambda: resources)
        self.maybe(0.05, container, "command", lambda: ["sleep", "1"])
        return container

    def resources(self) -> Object:
        """Requests and limits; those of resources that are not overcommitted are the same."""
        requests: Object = {}
        limits: Object = {}
        if self.chance(0.25):
            requests |= {"cpu": self.source.choice(("100m", 1, "0.5")), "memory": "1Gi"}
            if self.chance(0.5):
                limits |= {"cpu": "2", "memory": self.source.choice(("1Gi", "1.5Gi"))}
        if self.chance(0.2):
            name = self.source.choice(
                ("example.com/gpu", "deviceclass.resource.kubernetes.io/gpu", "hugepages-2Mi")
            )
            amount = "4Mi" if name.startswith("huge") else self.source.choice((1, "2", "0"))
            limits[name] = amount
            if self.chance(0.6):
                requests[name] = amount
            requests.setdefault("cpu", "1")
            limits.setdefault("cpu", "2")
        return {name: value for name, value in (("requests", requests), ("limits", limits)) if value}

    def pod_resources(self) -> Object:
        return {"requests": {"cpu": "4", "memory": "8Gi"}, "limits": {"cpu": "8", "memory": "16Gi"}}

    def workload(self, kind: str) -> Object:
        """What an object that holds a pod template has beside its metadata."""
        labels = {"app": self.source.choice(("web", "train", "x"))}
        template: Object = {"metadata": {"labels": dict(labels)}, "spec": self.pod_spec()}
        template["spec"].pop("restartPolicy", None)
        if kind == "PodTemplate":
            return {"template": template}
        spec: Object = {"template": template}
        if kind in ("Job", "CronJob"):
            template["spec"]["restartPolicy"] = self.source.choice(("Never", "OnFailure"))
            self.maybe(0.3, spec, "parallelism", lambda: 2)
            self.maybe(0.3, spec, "backoffLimit", lambda: self.source.choice((0, 6)))
            return {
                "spec": {"schedule": "0 * * * *", "jobTemplate": {"spec": spec}}
                if kind == "CronJob"
                else spec
            }
        spec["selector"] = labels if kind == "ReplicationController" else {"matchLabels": labels}
        if kind == "StatefulSet":
            spec["serviceName"] = "web"
        if kind != "DaemonSet":
            self.maybe(0.5, spec, "replicas", lambda: self.source.choice((0, 1, 3)))
        self.maybe(0.2, spec, "minReadySeconds", lambda: 5)
        return {"spec": spec}

    # --- slices

    def slice_spec(self) -> Object:
        generation = self.source.choice((0, 1, 7, 10**12))
        pool = {"name": self.source.choice(("node-a", "rack/1", "a.b/c")), "generation": generation}
        spec: Object = {
            "driver": self.driver(),
            "pool": {**pool, "resourceSliceCount": self.source.randint(1, 3)},
        }
        per_device = self.chance(0.15)
        if per_device:
            spec["perDeviceNodeSelection"] = True
        else:
            self.node_selection(spec)
        if self.chance(0.15):
            spec["sharedCounters"] = self.few(1, 8, self.counter_set)
        else:
            spec["devices"] = self.few(0, 6, lambda n: self.device(n, per_device))
        if self.chance(0.3):
            self.name_partition_type(spec)
        self.maybe(0.08, spec, "skipNodeOperations", self.skipped)
        return spec

    def name_partition_type(self, spec: Object) -> None:
        consuming = [device for device in spec.get("devices", ()) if "consumesCounters" in device]
        if consuming:
            spec["partitionTypeAttribute"] = name = f"{spec['driver']}/kind"
            for device in consuming:
                device.setdefault("attributes", {})[name] = {
                    "string": self.source.choice(("half", "quarter"))
                }

    def node_selection(self, target: Object) -> None:
        choice = self.source.choice(("nodeName", "nodeSelector", "allNodes"))
        node = "node-a" if self.chance(0.8) else "node-b"
        target[choice] = {"nodeName": node, "allNodes": True}.get(choice) or self.node_selector()

    def node_selector(self) -> Object:
        if self.chance(0.4):
            return {"nodeSelectorTerms": [{"matchFields": [self.node_requirement("metadata.name")]}]}
        keys = ("zone", "kubernetes.io/arch", "a.b/c")
        requirements = self.some(1, 2, lambda _: self.node_requirement(self.source.choice(keys)))
        return {"nodeSelectorTerms": [{"matchExpressions": requirements}]}

    def node_requirement(self, key: str) -> Object:
        if key == "metadata.name":
            return {"key": key, "operator": self.source.choice(("In", "NotIn")), "values": ["node-a"]}
        operator = self.source.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
        requirement: Object = {"key": key, "operator": operator}
        if operator in ("In", "NotIn"):
            requirement["values"] = self.source.choice((["a"], ["a", "b"]))
        elif operator in ("Gt", "Lt"):
            requirement["values"] = ["5"]
        return requirement

    def counter_set(self, index: int) -> Object:
        return {"name": f"set-{index}", "counters": self.counters()}

    def counters(self) -> Object:
        return {f"c-{n}": {"value": self.quantity()} for n in range(self.source.randint(1, 3))}

    def device(self, index: int, per_device: bool) -> Object:
        device: Object = {"name": f"dev-{index}"}
        self.maybe(0.7, device, "attributes", self.attributes)
        multiple = self.chance(0.3)
        self.maybe(0.5, device, "capacity", lambda: self.capacities(policies=multiple))
        if multiple:
            device["allowMultipleAllocations"] = True
        self.maybe(0.25, device, "consumesCounters", lambda: self.some(1, 2, self.consumption))
        if per_device:
            self.node_selection(device)
        self.maybe(0.2, device, "taints", lambda: self.few(1, 16, lambda _: self.taint()))
        if self.chance(0.15):
            device["bindingConditions"] = self.some(1, 4, lambda n: f"example.com/ready-{n}")
            device["bindingFailureConditions"] = self.some(1, 4, lambda n: f"failed-{n}")
            self.maybe(0.5, device, "bindsToNode", lambda: True)
        self.maybe(0.15, device, "nodeAllocatableResources", lambda: self.node_allocatable(device))
        return device

    def attributes(self) -> Object:
        return {
            self.attribute(qualified=False): self.attribute_value() for _ in range(self.source.randint(1, 4))
        }

    def attribute_value(self) -> Object:
        values: list[Object] = [
            {"int": self.source.choice((0, -1, 2**63 - 1, 64))},
            {"bool": self.chance(0.5)},
            {"string": self.source.choice(("a100", "", "ü<&>"))},
            {"version": self.source.choice(("1.2.3", "535.104.5-rc.1+b"))},
        ]
        if self.chance(0.1):
            values += [
                {"ints": [1, 2, 1]},
                {"bools": [True]},
                {"strings": ["a", ""]},
                {"versions": ["1.0.0", "2.0.0"]},
            ]
        return self.source.choice(values)

    def capacities(self, *, policies: bool) -> Object:
        names = self.source.sample(
            ("memory", "cores", "nic.example.org/bandwidth", "b"), self.source.randint(1, 3)
        )
        return {name: self.capacity(policy=policies and self.chance(0.5)) for name in names}

    def capacity(self, *, policy: bool) -> Object:
        if not policy:
            return {"value": self.quantity()}
        policies = (
            {"default": "1"},
            {"default": "2", "validValues": ["1", "2", "8"]},
            {"default": "2Gi", "validValues": ["1Gi", "2048Mi"]},
            {"default": "2", "validRange": {"min": "2", "max": "8", "step": "2"}},
            {"default": "1", "validRange": {"min": "1"}},
            {"default": "1500m", "validRange": {"min": "500m", "step": "500m"}},
        )
        return {
            "value": self.source.choice(("80Gi", "16Gi")),
            "requestPolicy": dict(self.source.choice(policies)),
        }

    def consumption(self, index: int) -> Object:
        consumption: Object = {"counterSet": f"set-{index}", "counters": self.counters()}
        self.maybe(0.2, consumption, "compatibilityGroups", lambda: self.some(1, 2, lambda n: f"group-{n}"))
        return consumption

    def node_allocatable(self, device: Object) -> Object:
        keys = list(device.get("capacity", {}))
        mapping: Object = {"deviceMultiplier": "2"}
        if keys and self.chance(0.5):
            mapping = {"capacityKey": self.source.choice(keys)}
            self.maybe(0.5, mapping, "capacityMultiplier", lambda: "2")
        resource: Object = {"mapping": mapping}
        self.maybe(0.4, resource, "overhead", lambda: {"perPod": "1", "perContainer": "100m"})
        return {self.source.choice(("cpu", "memory", "hugepages-2Mi")): resource}


def in_version(kind: str, version: str, object: Object) -> Object:
    """An object of v1's form in the form of `version`: v1beta1 has flat requests and `basic` devices.

    So had v1alpha3, up to 1.33; and its capacities are quantities.
    """
    if version not in FLAT_VERSIONS:
        return object
    if kind == "ResourceSlice":
        for device in object["spec"].get("devices", ()):
            basic = {key: device.pop(key) for key in list(device) if key != "name"}
            device["basic"] = basic
            if version == "v1alpha3" and "capacity" in basic:
                basic["capacity"] = {name: amount["value"] for name, amount in basic["capacity"].items()}
        return object
    spec = object["spec"].get("spec", {}) if kind == "ResourceClaimTemplate" else object["spec"]
    for request in spec.get("devices", {}).get("requests", ()) if "Claim" in kind else ():
        request.update(request.pop("exactly", {}))
    return object
