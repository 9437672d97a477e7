"""The objects of the example of a classic driver: its controller, its node plugin, the CRDs of its parameters, and a class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.errors import UsageError
from commandline.manifests.options import BUILT_IN_GUARD, NAMESPACE, OWN, image_entry
from resourceapi.objects import Object

if TYPE_CHECKING:
    from argparse import Namespace

DIRECTORY = "classic-gpu"
OWN_NAMESPACE = "claimcheck-classic-gpu"
#: Options that are about the other components alone, with what they are if they are not given.
OF_OTHERS: dict[str, object] = {
    "mode": BUILT_IN_GUARD,
    "certificates": OWN,
    "config": None,
    "client_authority": None,
    "url": None,
    "authority": None,
    "kube_scheduler_image": None,
    "failure_policy": [],
    "service_monitor": False,
}


def objects_of(options: Namespace) -> list[Object]:
    """The objects that the options choose.

    :raises UsageError: for options that do not fit together.
    """
    from manifests.kustomize import DIRECTORY as MANIFESTS
    from manifests.kustomize import render_value

    for name, usual in OF_OTHERS.items():
        if getattr(options, name) != usual:
            option = "--" + name.replace("_", "-")
            raise UsageError(
                f"manifests: {option} is for other components: leave it out with --component classic-gpu"
            )
    objects = render_value(kustomization(options), MANIFESTS)
    if options.no_network_policy:
        objects = [obj for obj in objects if obj["kind"] != "NetworkPolicy"]
    if options.namespace != NAMESPACE:
        objects = [_moved(obj, options.namespace) for obj in objects]
    return objects


def kustomization(options: Namespace) -> Object:
    """The kustomization, in ``manifests/``, for those options that kustomize can express."""
    images = [] if options.image is None else [image_entry("--image", "claimcheck", options.image)]
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [DIRECTORY],
        "replicas": [{"name": "claimcheck-classic-gpu", "count": options.replicas}],
        "images": images,
    }


def _moved(obj: Object, namespace: str) -> Object:
    """An object in another namespace, or in that of the node plugin, which is named after it; a Namespace by that name."""

    def named(usual: str) -> str:
        return namespace + usual.removeprefix(OWN_NAMESPACE)

    metadata = obj["metadata"]
    if obj["kind"] == "Namespace":
        return {**obj, "metadata": {**metadata, "name": named(metadata["name"])}}
    if "namespace" in metadata:
        obj = {**obj, "metadata": {**metadata, "namespace": named(metadata["namespace"])}}
    if "subjects" in obj:
        subjects = [{**subject, "namespace": named(subject["namespace"])} for subject in obj["subjects"]]
        obj = {**obj, "subjects": subjects}
    return obj
