"""Whether a workload says otherwise than before how its pods are to be, so that they are made anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resourceapi.manifests import mapping
from resourceapi.model.workloads import TEMPLATES
from resourceapi.objects import Object

#: What an API server adds to pod templates beside what :mod:`validation.pod_defaults` knows: nothing of it matters to devices. Names are
#: the same everywhere: of probes, lifecycles, volumes, variables and constraints.
_DEFAULTS: Mapping[str, Any] = {
    "path": "/",
    "scheme": "HTTP",
    "service": "",
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
    "apiVersion": "v1",
    "defaultMode": 420,
    "expirationSeconds": 3600,
    "fsType": "ext4",
    "volumeMode": "Filesystem",
    "iscsiInterface": "default",
    "cachingMode": "ReadWrite",
    "storageMode": "ThinProvisioned",
    "keyring": "/etc/ceph/keyring",
    "nodeAffinityPolicy": "Honor",
    "nodeTaintsPolicy": "Ignore",
}
#: Labels that Jobs add.
_OF_JOBS = frozenset(
    f"{prefix}{name}" for prefix in ("", "batch.kubernetes.io/") for name in ("job-name", "controller-uid")
)


def has_other_template(old: Object, new: Object) -> bool:
    """Whether the pods of a workload are made anew.

    :param old: the workload as an API server has it, and ``new`` as it answers.
    """
    path = TEMPLATES[str(old.get("kind"))]
    return _differs(mapping(old, *path), mapping(new, *path))


def _differs(old: Any, new: Any, name: str = "") -> bool:
    if isinstance(old, dict) and isinstance(new, dict):
        if name == "annotations":  # those that others have added stay, as after `kubectl rollout restart`
            return any(old.get(key) != value for key, value in new.items())
        return any(_differs(old.get(key), new.get(key), key) for key in (old.keys() | new.keys()) - _OF_JOBS)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) != len(new) or any(_differs(one, other) for one, other in zip(old, new, strict=True))
    return bool(_said(old, name) != _said(new, name)) and not (name == "annotations" and new is None)


def _said(value: Any, name: str) -> Any:
    """None for what says the same as nothing."""
    if value in ("", 0, [], {}) or value is False or value == _DEFAULTS.get(name):
        return None
    return value
