"""What is written into the status of a pod: which claim has the devices for its extended resources, and what its devices take of its node."""

from __future__ import annotations

from resourceapi.api_client import CONFLICT, NOT_FOUND, OK, Api, expect
from resourceapi.errors import ClaimcheckError
from resourceapi.objects import Object
from resourceapi.records.pods import pod_path


class PodGone(ClaimcheckError):
    """The pod has been deleted."""


def write_pod_status(api: Api, namespace: str, name: str, uid: str, status: Object) -> None:
    """Change parts of the status of a pod.

    :param status: these.
    :raises PodGone: if there is no such pod any more.
    :raises ClaimcheckError: if they cannot be written.
    """
    path = f"{pod_path(namespace, name)}/status"
    answer = api.request("PATCH", path, {"metadata": {"uid": uid}, "status": status})
    if answer[0] in (NOT_FOUND, CONFLICT):
        raise PodGone("the pod has been deleted")
    expect(answer, f"writing the status of pod {namespace}/{name}", OK)
