"""What is read of a kubeconfig, beside what the Python client of Kubernetes reads of the same file.

The client differs from kubectl in two ways that are not taken over: it keeps the line break at the end of a token file, and
prefers `token` to `tokenFile`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cluster.context_access import access_of
from cluster.kubeconfig import Kubeconfig

SERVER = "https://127.0.0.1:6443"
ROWS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "token": ({"server": SERVER}, {"token": "abc"}),
    "token file": ({"server": SERVER}, {"tokenFile": "token"}),
    "password": ({"server": SERVER}, {"username": "a", "password": "b:c"}),
    "nobody": ({"server": SERVER}, {}),
    "path": ({"server": f"{SERVER}/k8s/clusters/c-1"}, {"token": "abc"}),
    "unverified": ({"server": SERVER, "insecure-skip-tls-verify": True}, {"token": "abc"}),
}


@pytest.mark.parametrize("name", ROWS)
def test_server_and_credentials_are_those_that_the_client_finds(name: str, tmp_path: Path) -> None:
    # here, as it is some 500 modules
    from kubernetes.client import Configuration
    from kubernetes.config import load_kube_config

    cluster, user = ROWS[name]
    (tmp_path / "token").write_text("from-file\n")
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "c", "user": "u", "namespace": "team"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }
    file = tmp_path / "config"
    file.write_text(json.dumps(config))
    theirs = Configuration()
    load_kube_config(str(file), client_configuration=theirs)  # type: ignore[no-untyped-call]
    context = Kubeconfig([str(file)]).context()
    ours = access_of(context, environment={})
    assert ours.server == theirs.host
    settings: dict[str, Any] = dict(theirs.auth_settings())
    given = [setting["value"].strip() for setting in settings.values()]
    if theirs.username:
        given.append(theirs.get_basic_auth_token())
    headers = [value for name, value in ours.headers() if name.lower() == "authorization"]
    assert headers == given
