"""How a driver's program reaches its cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping

from cluster.access import Access, in_cluster
from cluster.context_access import access_of
from cluster.kubeconfig import Kubeconfig, kubeconfig_files


def reach(kubeconfig: str = "", environment: Mapping[str, str] = os.environ) -> tuple[Access, str]:
    """Access to a cluster, and the namespace of requests that name none.

    :param kubeconfig: a file; if empty, the service account of the pod that this runs in, else what kubectl would use.
    :raises cluster.kubeconfig.KubeconfigError: if there is no such cluster; OSError if its files cannot be read.
    """
    found = None if kubeconfig else in_cluster(environment)
    if found is not None:
        return found
    context = Kubeconfig([kubeconfig] if kubeconfig else kubeconfig_files(environment)).context()
    return access_of(context, environment=environment), context.namespace or "default"
