"""The control plane of 1.30 serves classic DRA, with all programs that the other tests of it need."""

from __future__ import annotations

from tests.e2e.classic_cluster import GROUP, classic_cluster, until


def test_a_pod_waits_for_its_driver() -> None:
    """A claim of a class gets made from its template, and kube-scheduler asks its driver about the nodes."""
    template = {
        "metadata": {"name": "gpu"},
        "spec": {"spec": {"resourceClassName": "gpu.example.com"}},
    }
    source = {"resourceClaimTemplateName": "gpu"}
    pod = {
        "metadata": {"name": "pod"},
        "spec": {
            "containers": [{"name": "c", "image": "x", "resources": {"claims": [{"name": "gpu"}]}}],
            "resourceClaims": [{"name": "gpu", "source": source}],
        },
    }
    with classic_cluster(2) as cluster:
        cluster.make(
            f"{GROUP}/resourceclasses",
            {"metadata": {"name": "gpu.example.com"}, "driverName": "gpu.example.com"},
        )
        cluster.make(f"{GROUP}/namespaces/default/resourceclaimtemplates", template)
        cluster.make("/api/v1/namespaces/default/pods", pod)
        context = f"{GROUP}/namespaces/default/podschedulingcontexts/pod"
        until(lambda: cluster.client.ask("GET", context).code == 200, cluster.scheduler.last_words())
        spec = cluster.client.ask("GET", context).body["spec"]
        assert spec["potentialNodes"] == ["node-1", "node-2"]
        assert spec["selectedNode"] in spec["potentialNodes"]
        writers = [each.get("userAgent", "").partition("/")[0] for each in cluster.writes()]
        assert "kube-scheduler" in writers
        assert cluster.metric("scheduler_pod_scheduling_attempts_count") == 0
