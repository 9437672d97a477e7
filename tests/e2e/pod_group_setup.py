"""What a control plane of 1.37 needs for PodGroups, whoever gives out the devices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.claimcheck.pod_group_cases import GATES
from tests.e2e.control_plane import ApiServer
from tests.e2e.deployed import NAMESPACE
from tests.e2e.deployed_scheduler import SCHEDULER
from tests.e2e.scheduling_cluster import CONTROLLERS, SERVER_FLAGS

FLAG = f"--feature-gates={','.join(f'{gate}=true' for gate in GATES)}"
SERVER = (FLAG, "--runtime-config=scheduling.k8s.io/v1beta1=true")
"""Of kube-apiserver."""


@contextmanager
def rights_to_groups(server: ApiServer) -> Iterator[None]:
    """What docs/how-to/schedule.md adds to the ClusterRole of kube-scheduler."""
    role = "/apis/rbac.authorization.k8s.io/v1"
    resources = ["podgroups", "podgroups/status"]
    verbs = ["get", "list", "watch", "update", "patch"]
    rule = {"apiGroups": ["scheduling.k8s.io"], "resources": resources, "verbs": verbs}
    name = {"metadata": {"name": "pod-groups"}}
    group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "pod-groups"}
    account = {"kind": "ServiceAccount", "name": SCHEDULER, "namespace": NAMESPACE}
    for path, body in (
        ("clusterroles", {**name, "rules": [rule]}),
        ("clusterrolebindings", {**name, "roleRef": group, "subjects": [account]}),
    ):
        answer = server.client.ask("POST", f"{role}/{path}", body)
        assert answer.code == 201, answer.body
    yield


WITH_POD_GROUPS: dict[str, Any] = {
    "server_flags": [*SERVER_FLAGS, *SERVER],
    "config": {"apiServer": {"featureGates": GATES}},
    "controllers": [*CONTROLLERS, "podgroup-protection-controller"],
    "controller_flags": [FLAG],
    "scheduler_flags": [FLAG],
    "beside": rights_to_groups,
}
"""For `scheduling_cluster`."""
