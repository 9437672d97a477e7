"""The controller of docs/how-to/write-a-classic-driver.md, as a program at a control plane of 1.30."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.docs.test_classic_driver import MANIFESTS, PROGRAM
from tests.e2e.classic_cluster import GROUP, ClassicCluster, classic_cluster, until
from tests.e2e.programs import running

ROOT = Path(__file__).parents[2]
CORE, NAMESPACED = "/api/v1/namespaces/default", f"{GROUP}/namespaces/default"
COLLECTIONS = {
    "ResourceClass": f"{GROUP}/resourceclasses",
    "ResourceClaimTemplate": f"{NAMESPACED}/resourceclaimtemplates",
    "ConfigMap": f"{CORE}/configmaps",
    "Pod": f"{CORE}/pods",
}


def test_program_of_the_page(tmp_path: Path) -> None:
    """Its pod is bound, with what the node plugin is to get; everything goes with the pod, and the program ends cleanly."""
    file, log = tmp_path / "fpga_driver.py", tmp_path / "log"
    file.write_text(PROGRAM, encoding="utf-8")
    with classic_cluster(2) as cluster:
        for each in yaml.safe_load_all(MANIFESTS):
            cluster.make(COLLECTIONS[each["kind"]], each)
        variables = [f"PYTHONPATH={ROOT}", f"KUBECONFIG={cluster.kubeconfig}", f"PATH={os.environ['PATH']}"]
        with running(["env", "-i", *variables, sys.executable, str(file)], log) as program:
            until(lambda: bound_to(cluster) != "", "the pod is not bound")
            (claim,) = items(cluster, "resourceclaims")
            assert claim["status"]["allocation"]["resourceHandles"][0]["data"] == "0:crypto"
            cluster.client.ask("DELETE", f"{CORE}/pods/tls", {"gracePeriodSeconds": 0})
            until(lambda: not items(cluster, "resourceclaims"), "the claim does not go")
            until(lambda: not items(cluster, "podschedulingcontexts"), "the context does not go")
            program.stop()
            assert not program.is_running()
        lease = cluster.client.ask(
            "GET", "/apis/coordination.k8s.io/v1/namespaces/default/leases/fpga.example.com"
        )
        assert lease.body["spec"].get("holderIdentity", "") == ""
        assert "Traceback" not in log.read_text()


def items(cluster: ClassicCluster, resource: str) -> list[Any]:
    found: list[Any] = cluster.client.ask("GET", f"{NAMESPACED}/{resource}").body["items"]
    return found


def bound_to(cluster: ClassicCluster) -> str:
    found: str = cluster.client.ask("GET", f"{CORE}/pods/tls").body["spec"].get("nodeName", "")
    return found
