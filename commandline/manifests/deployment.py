"""The objects that deploy a component: the kustomizations in ``manifests/``, changed as the options say.

The components are the webhooks, a second scheduler (kube-scheduler, and ``claimcheck schedule`` as its extender), ``claimcheck watch``,
``claimcheck ui`` for people who sign in, and the example of a classic driver: its controller, its node plugin, the CRDs of its parameters, and a class.
"""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING

from commandline.errors import UsageError
from commandline.manifests.options import (
    BUILT_IN_GUARD,
    CERT_MANAGER,
    CLASSIC_GPU,
    CRD_SERVED,
    NAMESPACE,
    OWN,
    SCHEDULER,
    SECRET,
    UI,
    WATCH,
    image_entry,
    renamed,
)
from commandline.reports.escaping import complain
from resourceapi.objects import Object

if TYPE_CHECKING:
    from argparse import Namespace


_CLASSIC_GPU_DIRECTORY = "classic-gpu"
OWN_NAMESPACE = "claimcheck-classic-gpu"
OVERLAY = "scheduler"
COMPONENTS = "../components/scheduler"
#: The components of the scheduler for each value of ``--certificates`` and ``--mode``.
_SCHEDULER_CERTIFICATES = {OWN: ["own-certificates"], SECRET: [], CERT_MANAGER: ["cert-manager"]}
MODE_COMPONENTS = {BUILT_IN_GUARD: [], CRD_SERVED: ["crd-served"]}
CONFIG = "schedule.yaml"
# These follow from the other manifests; they are the first lines of the scheduler's configuration.
FIXED = ("listen", "tls", "leaderElection")
FIXED_LINES = 4
_OF_SERVICES: dict[str, object] = {
    "mode": BUILT_IN_GUARD,
    "certificates": OWN,
    "config": None,
    "client_authority": None,
    "url": None,
    "authority": None,
    "kube_scheduler_image": None,
    "failure_policy": [],
    "service_monitor": False,
    "argument": [],
}
#: Of a component, whose options it does not have, and these with what they are if they are not given.
_OF_OTHERS: dict[str, tuple[str, dict[str, object]]] = {
    SCHEDULER: (
        "the webhooks",
        {"client_authority": None, "url": None, "authority": None, "failure_policy": [], "argument": []},
    ),
    WATCH: (
        "other components",
        {name: value for name, value in _OF_SERVICES.items() if name not in ("service_monitor", "argument")}
        | {"replicas": 2},
    ),
    UI: (
        "other components",
        {name: value for name, value in _OF_SERVICES.items() if name != "certificates"} | {"replicas": 2},
    ),
    CLASSIC_GPU: ("other components", _OF_SERVICES),
}
IMAGE = "claimcheck"
_DEFAULT_LABELS = (
    "claimcheck: the API server will ask about the labels of the default configuration: name that of the service with "
    "--config if it guards others"
)
#: The policy that keeps CRDs, and its binding.
DEFINITIONS = "claimcheck-definitions"
#: The components for each value of ``--certificates``; {mode} is that of ``--mode``.
CERTIFICATE_COMPONENTS = {OWN: ["own-certificates/{mode}"], SECRET: [], CERT_MANAGER: ["cert-manager"]}
#: The components for ``--client-authority``. With crd-served, API servers present a certificate in any case.
CLIENT_AUTHORITY_COMPONENTS = {BUILT_IN_GUARD: ["quota-roles", "quota-reasons"], CRD_SERVED: []}


def objects_of(options: Namespace) -> list[Object]:
    """The objects that the options choose.

    :raises UsageError: for options that do not fit together.
    """
    from manifests.kustomize import DIRECTORY, render_value

    others, usual = _OF_OTHERS.get(options.component, ("", {}))
    for name, value in usual.items():
        if getattr(options, name) != value:
            option = "--" + name.replace("_", "-")
            raise UsageError(
                f"manifests: {option} is for {others}: leave it out with --component {options.component}"
            )
    if options.component == SCHEDULER:
        objects = render_value(scheduler_kustomization(options), DIRECTORY / "overlays")
        if options.config:
            _use_config(objects, options.config)
    elif options.component == CLASSIC_GPU:
        objects = render_value(classic_gpu_kustomization(options), DIRECTORY)
    elif options.component == WATCH:
        objects = render_value(watch_kustomization(options), DIRECTORY)
        _add_arguments(objects, options.argument)
    elif options.component == UI:
        objects = render_value(ui_kustomization(options), DIRECTORY)
    elif options.kube_scheduler_image is not None:
        raise UsageError("manifests: --kube-scheduler-image is only for --component scheduler")
    elif options.argument:
        raise UsageError("manifests: --argument is only for --component watch")
    else:
        objects = _adapted(render_value(kustomization(options), DIRECTORY / "overlays"), options)
    if options.no_network_policy:
        objects = [obj for obj in objects if obj["kind"] != "NetworkPolicy"]
    if options.namespace != NAMESPACE:
        move = _moved if options.component == CLASSIC_GPU else renamed
        objects = [move(obj, options.namespace) for obj in objects]
    return objects


def classic_gpu_kustomization(options: Namespace) -> Object:
    """The kustomization, in ``manifests/``, for those options that kustomize can express."""
    replicas = [{"name": "claimcheck-classic-gpu", "count": options.replicas}]
    return {**_kustomization_of(_CLASSIC_GPU_DIRECTORY, options), "replicas": replicas}


def _add_arguments(objects: list[Object], arguments: list[str]) -> None:
    """Give the program further arguments."""
    for obj in objects:
        if obj["kind"] == "Deployment":
            (container,) = obj["spec"]["template"]["spec"]["containers"]
            container["args"] += arguments


def watch_kustomization(options: Namespace) -> Object:
    """The kustomization, in ``manifests/``, for those options that kustomize can express."""
    components = ["components/watch/prometheus"] * options.service_monitor
    return {**_kustomization_of(WATCH, options), "components": components}


def ui_kustomization(options: Namespace) -> Object:
    """The kustomization, in ``manifests/``, for those options that kustomize can express.

    :raises UsageError: if the page is to issue its own certificates.
    """
    if options.certificates == OWN:
        raise UsageError(
            "manifests: --component ui needs --certificates secret or cert-manager: the page may write no Secret"
        )
    components = ["components/ui/cert-manager"] * (options.certificates == CERT_MANAGER)
    return {**_kustomization_of(UI, options), "components": components}


def _kustomization_of(directory: str, options: Namespace) -> Object:
    images = [] if options.image is None else [image_entry("--image", IMAGE, options.image)]
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [directory],
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


def _use_config(objects: list[Object], file: str) -> None:
    from commandline.manifests.config_map import Deployed, put_config
    from scheduler.config import load_config

    (config_map,) = (obj for obj in objects if obj["kind"] == "ConfigMap" and CONFIG in obj["data"])
    put_config(config_map, file, Deployed(CONFIG, FIXED, FIXED_LINES, load_config))


def scheduler_kustomization(options: Namespace) -> Object:
    """The kustomization, in ``overlays/``, for those options that kustomize can express."""
    components = MODE_COMPONENTS[options.mode] + _SCHEDULER_CERTIFICATES[options.certificates]
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


def _adapted(objects: list[Object], options: Namespace) -> list[Object]:
    """The rendered manifests of the webhooks as the other options want them.

    :raises UsageError: for options that do not fit together.
    """
    if options.config:
        from commandline.manifests.config_map import use_config

        use_config(objects, options.config, is_elsewhere=options.url is not None)
    if options.client_authority is not None:
        objects.append(_client_authority(options.client_authority))
    if (options.url is None) != (options.authority is None):
        raise UsageError("manifests: --url and --authority need each other")
    if options.url is not None:
        if not options.config:
            complain(_DEFAULT_LABELS)
        objects = _with_url(objects, options.url, _bundle(options.authority))
    _set_failure_policies(objects, options.failure_policy)
    return objects


def _with_url(objects: list[Object], url: str, bundle: str) -> list[Object]:
    """The webhook configurations and CRDs alone, and what keeps these, with a URL in place of the Service."""
    external = []
    for obj in objects:
        webhooks = list(obj.get("webhooks", ()))
        is_definition = obj["kind"] == "CustomResourceDefinition"
        if is_definition and "webhook" in obj["spec"]["conversion"]:
            webhooks.append(obj["spec"]["conversion"]["webhook"])
        for webhook in webhooks:
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {"url": url + path, "caBundle": bundle}
        if webhooks or is_definition or obj["metadata"]["name"] == DEFINITIONS:
            external.append(obj)
    return external


def _bundle(file: str) -> str:
    """The certificates in a file in base64, as for ``caBundle``."""
    return b64encode(_certificates("--authority", file)).decode("ascii")


def _client_authority(file: str) -> Object:
    """The ConfigMap with the authority of the API server's client certificate."""
    text = _certificates("--client-authority", file).decode("ascii", "replace")
    metadata = {"name": "claimcheck-clients", "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"ca.crt": text}}


def _certificates(option: str, file: str) -> bytes:
    """The contents of a file with certificates, which must not have a private key."""
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"manifests: {option} {file}: {error.strerror or error}") from None
    if b"-----BEGIN CERTIFICATE-----" not in content:
        raise UsageError(f"manifests: {option} {file}: the file has no certificate (PEM)")
    if b"PRIVATE KEY-----" in content:
        raise UsageError(
            f"manifests: {option} {file}: the file has a private key, which must not be published"
        )
    return content


def kustomization(options: Namespace) -> Object:
    """The kustomization, in ``overlays/``, for those options that kustomize can express."""
    components = [name.format(mode=options.mode) for name in CERTIFICATE_COMPONENTS[options.certificates]]
    if options.client_authority is not None:
        components += CLIENT_AUTHORITY_COMPONENTS[options.mode]
    components += ["prometheus"] * options.service_monitor
    content: Object = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [options.mode],
        "components": [f"../components/{name}" for name in components],
        "replicas": [{"name": "claimcheck", "count": options.replicas}],
    }
    if options.image is not None:
        content["images"] = [image_entry("--image", IMAGE, options.image)]
    return content


def _set_failure_policies(objects: list[Object], wanted: list[tuple[str, str]]) -> None:
    webhooks = [webhook for obj in objects for webhook in obj.get("webhooks", ())]
    known = {webhook["name"].partition(".")[0] for webhook in webhooks}
    for name, policy in wanted:
        if name and name not in known:
            raise UsageError(
                f"manifests: --failure-policy {name}={policy}: the webhooks are {', '.join(sorted(known))}"
            )
        for webhook in webhooks:
            if name in ("", webhook["name"].partition(".")[0]):
                webhook["failurePolicy"] = policy
