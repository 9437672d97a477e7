"""The objects of a second scheduler: kube-scheduler, and ``claimcheck schedule`` as its extender."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.errors import UsageError
from commandline.manifests.options import (
    BUILT_IN_GUARD,
    CERT_MANAGER,
    CRD_SERVED,
    NAMESPACE,
    OWN,
    SECRET,
    image_entry,
    renamed,
)
from resourceapi.objects import Object

if TYPE_CHECKING:
    from argparse import Namespace

OVERLAY = "scheduler"
COMPONENTS = "../components/scheduler"
#: The components for each value of ``--certificates`` and ``--mode``.
CERTIFICATE_COMPONENTS = {OWN: ["own-certificates"], SECRET: [], CERT_MANAGER: ["cert-manager"]}
MODE_COMPONENTS = {BUILT_IN_GUARD: [], CRD_SERVED: ["crd-served"]}
CONFIG = "schedule.yaml"
# These follow from the other manifests; they are the first lines of the configuration.
FIXED = ("listen", "tls", "leaderElection")
FIXED_LINES = 4
#: Options that are about the webhooks alone, with what they are if they are not given.
OF_WEBHOOKS: dict[str, object] = {
    "client_authority": None,
    "url": None,
    "authority": None,
    "failure_policy": [],
}


def objects_of(options: Namespace) -> list[Object]:
    """The objects that the options choose.

    :raises UsageError: for options that do not fit together.
    """
    from manifests.kustomize import DIRECTORY, render_value

    for name, usual in OF_WEBHOOKS.items():
        if getattr(options, name) != usual:
            option = "--" + name.replace("_", "-")
            raise UsageError(
                f"manifests: {option} is for the webhooks: leave it out with --component scheduler"
            )
    objects = render_value(kustomization(options), DIRECTORY / "overlays")
    if options.config:
        _use_config(objects, options.config)
    if options.no_network_policy:
        objects = [obj for obj in objects if obj["kind"] != "NetworkPolicy"]
    if options.namespace != NAMESPACE:
        objects = [renamed(obj, options.namespace) for obj in objects]
    return objects


def _use_config(objects: list[Object], file: str) -> None:
    from commandline.manifests.config_map import Deployed, put_config
    from scheduler.config import load_config

    (config_map,) = (obj for obj in objects if obj["kind"] == "ConfigMap" and CONFIG in obj["data"])
    put_config(config_map, file, Deployed(CONFIG, FIXED, FIXED_LINES, load_config))


def kustomization(options: Namespace) -> Object:
    """The kustomization, in ``overlays/``, for those options that kustomize can express."""
    components = MODE_COMPONENTS[options.mode] + CERTIFICATE_COMPONENTS[options.certificates]
    components += ["prometheus"] * options.service_monitor
    images = [("--image", "claimcheck", options.image)]
    images += [("--kube-scheduler-image", "kube-scheduler", options.kube_scheduler_image)]
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [OVERLAY],
        "components": [f"{COMPONENTS}/{name}" for name in components],
        "replicas": [{"name": "claimcheck-scheduler", "count": options.replicas}],
        "images": [image_entry(*image) for image in images if image[-1] is not None],
    }
