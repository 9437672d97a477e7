"""The options of ``claimcheck manifests``."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from typing import TYPE_CHECKING, Any

from commandline.errors import UsageError
from commandline.options import add_output
from resourceapi.objects import Object

if TYPE_CHECKING:
    from argparse import ArgumentParser


DESCRIPTION = "Print the manifests that deploy the webhooks, a second scheduler, events for pods that wait, the page, or a classic driver."
EXAMPLES = """examples:
  claimcheck manifests --image registry.example.com/claimcheck:0.1.0 | kubectl apply --server-side -f -
  claimcheck manifests --image IMAGE --mode crd-served --certificates cert-manager --service-monitor
  claimcheck manifests --image IMAGE --client-authority front-proxy-ca.crt
  claimcheck manifests --image IMAGE --config webhook.yaml --failure-policy classes=Fail
  claimcheck manifests --mode crd-served --url https://127.0.0.1:8443 --authority certificates/current/ca.crt
  claimcheck manifests --component scheduler --image IMAGE --kube-scheduler-image KUBE_SCHEDULER_IMAGE
  claimcheck manifests --component watch --image IMAGE | kubectl apply --server-side -f -
  claimcheck manifests --component ui --image IMAGE --certificates cert-manager | kubectl apply --server-side -f -
  claimcheck manifests --component classic-gpu --image IMAGE | kubectl apply --server-side -f -

Without --namespace, --config, --argument, --failure-policy and --url, the result is what kustomize makes of manifests/overlays/MODE
(manifests/overlays/scheduler for the scheduler, manifests/watch for events, manifests/ui for the page, manifests/classic-gpu
for the example of a classic driver) with the components that the options choose.
"""
BUILT_IN_GUARD, CRD_SERVED = MODES = ("built-in-guard", "crd-served")
OWN, SECRET, CERT_MANAGER = CERTIFICATES = ("own", "secret", "cert-manager")
WEBHOOKS, SCHEDULER, WATCH, UI, CLASSIC_GPU = COMPONENTS = (
    "webhooks",
    "scheduler",
    "watch",
    "ui",
    "classic-gpu",
)
FAILURE_POLICIES = ("Fail", "Ignore")
#: The namespace in the kustomizations.
NAMESPACE = "claimcheck-system"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    parser.add_argument(
        "--component",
        choices=COMPONENTS,
        default=WEBHOOKS,
        help="what to deploy: `claimcheck serve`, or a kube-scheduler with `claimcheck schedule` as its extender, for pods "
        "with schedulerName claimcheck, or `claimcheck watch`, or `claimcheck ui --sign-in`, or the example of a classic driver (`claimcheck classic-driver`, Kubernetes 1.30); "
        f"default: {WEBHOOKS}",
    )
    parser.add_argument(
        "--mode",
        choices=MODES,
        default=BUILT_IN_GUARD,
        help=f"whether kube-apiserver serves resource.k8s.io itself, or through CRDs; default: {BUILT_IN_GUARD}",
    )
    _add_service(parser)
    _add_certificates(parser)
    _add_external_service(parser)
    parser.add_argument(
        "--failure-policy",
        metavar="[WEBHOOK=]Fail|Ignore",
        type=_failure_policy,
        action="append",
        default=[],
        help="what happens to requests while no webhook answers, for one webhook (the first part of its name) or all; "
        "can be repeated",
    )
    parser.add_argument(
        "--service-monitor",
        action="store_true",
        help="add a ServiceMonitor for Prometheus (a PodMonitor for the scheduler and for watch)",
    )
    parser.add_argument(
        "--argument",
        metavar="ARGUMENT",
        action="append",
        default=[],
        help="with --component watch: a further option of it, such as --argument=--report-port=8081; can be repeated",
    )
    parser.add_argument("--no-network-policy", action="store_true", help="leave out NetworkPolicies")
    add_output(parser, ("yaml", "json"))


def _add_service(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--namespace",
        metavar="NAME",
        type=_namespace,
        default=NAMESPACE,
        help=f"namespace of the service; default: {NAMESPACE}, with --component classic-gpu claimcheck-classic-gpu",
    )
    parser.add_argument(
        "--image",
        metavar="IMAGE",
        help="image that your nodes can pull, with tag or digest; required without --url",
    )
    parser.add_argument(
        "--kube-scheduler-image",
        metavar="IMAGE",
        help="image of kube-scheduler, of your cluster's release; required with --component scheduler",
    )
    parser.add_argument(
        "--replicas",
        metavar="N",
        type=_positive,
        default=2,
        help="number of pods; default: 2",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="your own configuration of `serve`; its `listen` and `tls` are replaced, as they follow from the other options "
        "(for the scheduler: of `schedule`, and its `leaderElection`, too)",
    )


def _add_certificates(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--certificates",
        choices=CERTIFICATES,
        default=OWN,
        help="issued and renewed by the service itself, in a Secret claimcheck-tls that you create (for the scheduler: "
        "claimcheck-scheduler-tls and claimcheck-kube-scheduler-tls; for the page, which may write none: claimcheck-ui-tls), or by cert-manager; "
        f"default: {OWN}",
    )
    parser.add_argument(
        "--client-authority",
        metavar="FILE",
        help="the authority (PEM) of the certificate that the API server presents to webhooks, which quota and feasibility need; "
        "becomes the ConfigMap claimcheck-clients, and enables quota with built-in-guard",
    )


def _add_external_service(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--url",
        metavar="URL",
        type=_url,
        help="https://HOST:PORT of a service that runs elsewhere: print only the objects that refer to it",
    )
    parser.add_argument(
        "--authority", metavar="FILE", help="with --url: the certificate authority of that service (PEM)"
    )


def _positive(given: str) -> int:
    try:
        number = int(given)
    except ValueError:
        number = 0
    if number < 1:
        raise ArgumentTypeError(f"{given!r} is not a positive number")
    return number


def _namespace(given: str) -> str:
    from resourceapi.names import short_name

    if not given or short_name(given):
        raise ArgumentTypeError(
            f"{given!r} is not a valid namespace name: use lower case letters, digits and -"
        )
    return given


def _url(given: str) -> str:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(given)
        is_plain = parts.scheme == "https" and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_plain = False
    # API servers accept neither of these in a webhook's URL, and the paths are ours
    if not is_plain or "@" in given or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ArgumentTypeError(f"{given!r} is not https://HOST[:PORT]")
    return f"https://{parts.netloc}"


def _failure_policy(given: str) -> tuple[str, str]:
    name, _, policy = given.rpartition("=")
    if policy not in FAILURE_POLICIES:
        raise ArgumentTypeError(f"{given!r} is not [WEBHOOK=]{'|'.join(FAILURE_POLICIES)}")
    return name, policy


def renamed(value: Any, namespace: str) -> Any:
    """A value with another namespace in references, selectors and names of certificates."""
    if isinstance(value, str):
        return value.replace(NAMESPACE, namespace)
    if isinstance(value, list):
        return [renamed(item, namespace) for item in value]
    if isinstance(value, dict):
        return {key: renamed(item, namespace) for key, item in value.items()}
    return value


def image_entry(option: str, name: str, image: str) -> Object:
    """What replaces the image of a name.

    :param option: the option that the image is from.
    :raises UsageError: if it is no image.
    """
    repository, at, digest = image.partition("@")
    head, slash, last = repository.rpartition("/")
    base, colon, tag = last.partition(":")
    if not base or (colon and not tag) or re.search(r"\s", image):
        raise UsageError(f"manifests: {option} {image}: expected NAME[:TAG|@DIGEST]")
    if at:
        return {"name": name, "newName": repository, "digest": digest}
    return {"name": name, "newName": head + slash + base, "newTag": tag or "latest"}
