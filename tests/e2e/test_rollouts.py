"""How far `impact` says that rollouts come is how far they come with real controllers and a real kube-scheduler."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from commandline.main import main
from tests.e2e.live_impact import cluster
from tests.e2e.live_objects import LiveObjects
from tests.e2e.live_rollouts import LiveRollouts
from tests.e2e.scheduling_cluster import until

SEEDS = range(2_000, 2_012)
_WITH_DEFAULTS = """\
apiVersion: v1
kind: Node
metadata: {name: node-1}
status: {capacity: {cpu: "8", memory: 32Gi, pods: "110"}, allocatable: {cpu: "8", memory: 32Gi, pods: "110"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, v: '1'}}
    spec:
      serviceAccountName: default
      containers:
      - name: c
        image: registry.example.com/web
        ports: [{containerPort: 80, name: http}]
        env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}, {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]
        resources: {requests: {cpu: "0.1", memory: "1000Ki"}, limits: {cpu: 2000m}}
        livenessProbe: {httpGet: {port: http}}
        readinessProbe: {tcpSocket: {port: 80}, periodSeconds: 3}
        startupProbe: {grpc: {port: 90}}
        lifecycle: {preStop: {httpGet: {port: 80}}}
        volumeMounts: [{name: config, mountPath: /c}, {name: token, mountPath: /t, readOnly: true}]
      initContainers: [{name: i, image: "i:2", command: [a], restartPolicy: Always}]
      volumes:
      - {name: config, configMap: {name: c, optional: true}}
      - {name: secret, secret: {secretName: s}}
      - {name: empty, emptyDir: {}}
      - {name: host, hostPath: {path: /x}}
      - {name: iscsi, iscsi: {targetPortal: "1.2.3.4", iqn: iqn.2026-01.com.example:a, lun: 0}}
      - {name: down, downwardAPI: {items: [{path: l, fieldRef: {fieldPath: metadata.labels}}]}}
      - {name: token, projected: {sources: [{serviceAccountToken: {path: t}}, {configMap: {name: c}}]}}
      - {name: work, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}}}}
      topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}]
      affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {app: web}}}}]}}
      tolerations: [{key: gpu, operator: Exists}]
      dnsConfig: {options: [{name: ndots, value: "2"}]}
      securityContext: {fsGroup: 1}
"""


def test_comes_true() -> None:
    """Some end and some do not; more changes with `python -m tests.e2e.live_rollouts`."""
    with cluster() as server:
        live = LiveRollouts(server)
        differences = [(seed, each) for seed in SEEDS for each in live.differences(seed)]
    assert differences == []
    assert 0 < live.counted["that end"] < len(SEEDS)


def test_defaults_are_no_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is applied once more makes no pods anew, whatever the API server has filled in."""
    file = tmp_path / "web.yaml"
    file.write_text(_WITH_DEFAULTS)
    with cluster() as server:
        there = LiveObjects(server.client, ["default"])
        for each in yaml.safe_load_all(_WITH_DEFAULTS):
            there.make(each)
        until(lambda: len(there.of("Pod")) == 2, "there are no pods")
        assert main(["impact", str(file), "--kubeconfig", str(server.kubeconfig)]) == 0
        assert capsys.readouterr().out == "nothing changes for pods\n"
        file.write_text(_WITH_DEFAULTS.replace("v: '1'", "v: '2'"))
        assert main(["impact", str(file), "--kubeconfig", str(server.kubeconfig)]) == 0
        assert "2 pods are replaced" in capsys.readouterr().out
