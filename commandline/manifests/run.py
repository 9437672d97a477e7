"""``claimcheck manifests``: what deploys the webhooks in a cluster, rendered from the kustomizations in ``manifests/``."""

from __future__ import annotations

import json
import re
import sys
import sysconfig
from argparse import ArgumentTypeError, RawDescriptionHelpFormatter
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commandline.errors import UsageError
from resourceapi.objects import Object

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

MODES = ("built-in-guard", "crd-served")
OWN, SECRET, CERT_MANAGER = "own", "secret", "cert-manager"
# the components for each, which may depend on the mode
CERTIFICATES = {OWN: ["own-certificates/{mode}"], SECRET: [], CERT_MANAGER: ["cert-manager"]}
# the components where API servers show a certificate; crd-served counts on that anyway
WITH_CLIENT_AUTHORITY = {"built-in-guard": ["quota-roles", "quota-reasons"], "crd-served": []}
POLICIES = ("Fail", "Ignore")
NAMESPACE, IMAGE = "claimcheck-system", "claimcheck"
# where the files are: beside the sources, or where an installation has put them
PLACES = (
    Path(__file__).parents[2] / "manifests",
    Path(sysconfig.get_path("data")) / "share/claimcheck/manifests",
)
EXAMPLES = """examples:
  claimcheck manifests --image registry.example.com/claimcheck:0.1.0 | kubectl apply --server-side -f -
  claimcheck manifests --mode crd-served --certificates cert-manager --service-monitor
  claimcheck manifests --client-authority front-proxy-ca.crt
  claimcheck manifests --failure-policy classes=Fail
  claimcheck manifests --mode crd-served --url https://127.0.0.1:8443 --authority certificates/current/ca.crt

Without --namespace the same as kustomize makes of manifests/overlays/MODE with the components named by the options.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Give a parser the options of the subcommand."""
    parser.description = "Print the manifests that deploy the webhooks in a cluster."
    parser.epilog = EXAMPLES
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.add_argument(
        "--mode",
        choices=MODES,
        default=MODES[0],
        help=f"whether the cluster serves resource.k8s.io itself, or CRDs are to (default: {MODES[0]})",
    )
    parser.add_argument(
        "--namespace",
        metavar="NAME",
        type=_namespace,
        default=NAMESPACE,
        help=f"where the service runs (default: {NAMESPACE})",
    )
    parser.add_argument(
        "--image", metavar="IMAGE", help="the image, with a tag or digest, that your nodes can pull"
    )
    parser.add_argument(
        "--replicas", metavar="N", type=_positive, default=2, help="how many pods (default: 2)"
    )
    parser.add_argument(
        "--certificates",
        choices=CERTIFICATES,
        default=OWN,
        help="made and renewed by the service, in a Secret claimcheck-tls that you make, or by cert-manager (default: own)",
    )
    parser.add_argument(
        "--failure-policy",
        metavar="[WEBHOOK=]Fail|Ignore",
        type=_failure_policy,
        action="append",
        default=[],
        help="what happens while nobody answers, for one webhook (the first part of its name) or all; may be repeated",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="a configuration of your own, without `listen` and `tls`, which depend on the other options",
    )
    parser.add_argument(
        "--url",
        metavar="URL",
        type=_url,
        help="https://HOST:PORT where a service answers that runs elsewhere: only what asks it is printed",
    )
    parser.add_argument(
        "--authority", metavar="FILE", help="with --url: the certificates (PEM) by which to know that service"
    )
    parser.add_argument(
        "--client-authority",
        metavar="FILE",
        help="PEM: who signs the certificate that the API server shows to webhooks, without which no quota is checked; "
        "becomes the ConfigMap claimcheck-clients, and with built-in-guard switches quota on",
    )
    parser.add_argument("--service-monitor", action="store_true", help="add one for the Prometheus operator")
    parser.add_argument("--no-network-policy", action="store_true", help="leave out the NetworkPolicy")
    parser.add_argument(
        "-o", "--output", choices=("yaml", "json"), default="yaml", help="the format (default: yaml)"
    )


def run(options: Namespace) -> int:
    """Print the manifests."""
    objects = rendered(options)
    if options.output == "json":
        print(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}, indent=2))
    else:
        print(_as_yaml(objects), end="")
    if options.image is None and options.url is None:
        print("claimcheck: manifests: name an image that your nodes can pull with --image", file=sys.stderr)
    return 0


def _as_yaml(objects: list[Object]) -> str:
    """YAML documents; texts of several lines are written as such."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """One of our own, so that others stay as they are."""

        def ignore_aliases(self, data: object) -> bool:
            return True

    def represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)

    Dumper.add_representer(str, represent)
    written: str = yaml.dump_all(objects, Dumper=Dumper, sort_keys=False, width=110)
    return written


def rendered(options: Namespace) -> list[Object]:
    """The objects that the options ask for.

    :raises UsageError: for options that do not fit together.
    """
    from commandline.manifests.kustomize import render_value

    directory = _manifests() / "overlays"
    objects = render_value(kustomization(options), directory)
    if options.config:
        from commandline.manifests import own_config

        own_config.use(objects, options.config)
    if options.client_authority is not None:
        objects.append(_client_authority(options.client_authority))
    if (options.url is None) != (options.authority is None):
        raise UsageError("manifests: --url and --authority are given together, or not at all")
    if options.url is not None:
        objects = _asking(objects, options.url, _bundle(options.authority))
    _set_failure_policies(objects, options.failure_policy)
    if options.no_network_policy:
        objects = [obj for obj in objects if obj["kind"] != "NetworkPolicy"]
    if options.namespace != NAMESPACE:
        objects = [_renamed(obj, options.namespace) for obj in objects]
    return objects


def _asking(objects: list[Object], url: str, bundle: str) -> list[Object]:
    """Those of the objects that ask the service, at another place than the Service."""
    asking = []
    for obj in objects:
        webhooks = list(obj.get("webhooks", ()))
        if obj["kind"] == "CustomResourceDefinition":
            webhooks.append(obj["spec"]["conversion"]["webhook"])
        for webhook in webhooks:
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {"url": url + path, "caBundle": bundle}
        if webhooks:
            asking.append(obj)
    return asking


def _bundle(file: str) -> str:
    """The certificates in a file as API objects have them."""
    return b64encode(_certificates("--authority", file)).decode("ascii")


def _client_authority(file: str) -> Object:
    """The ConfigMap by which the service knows the API server.

    :raises UsageError: if there is no certificate in the file.
    """
    text = _certificates("--client-authority", file).decode("ascii", "replace")
    metadata = {"name": "claimcheck-clients", "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"ca.crt": text}}


def _certificates(option: str, file: str) -> bytes:
    """The certificates in a file.

    :raises UsageError: if there are none.
    """
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"manifests: {option} {file}: {error.strerror or error}") from None
    if b"-----BEGIN CERTIFICATE-----" not in content:
        raise UsageError(f"manifests: {option} {file}: there is no certificate (PEM) in it")
    if b"PRIVATE KEY-----" in content:
        raise UsageError(
            f"manifests: {option} {file}: there is a private key in it, which is for nobody else"
        )
    return content


def kustomization(options: Namespace) -> Object:
    """A kustomization beside the overlays that stands for the options, as far as kustomize has words for them."""
    components = [name.format(mode=options.mode) for name in CERTIFICATES[options.certificates]]
    if options.client_authority is not None:
        components += WITH_CLIENT_AUTHORITY[options.mode]
    components += ["prometheus"] * options.service_monitor
    whole: Object = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [options.mode],
        "components": [f"../components/{name}" for name in components],
        "replicas": [{"name": "claimcheck", "count": options.replicas}],
    }
    if options.image is not None:
        whole["images"] = [{"name": IMAGE, **_image(options.image)}]
    return whole


def _image(image: str) -> Object:
    name, at, digest = image.partition("@")
    head, slash, last = name.rpartition("/")
    base, colon, tag = last.partition(":")
    if not base or (colon and not tag) or re.search(r"\s", image):
        raise UsageError(f"manifests: --image {image}: expected NAME[:TAG|@DIGEST]")
    if at:
        return {"newName": name, "digest": digest}
    return {"newName": head + slash + base, "newTag": tag or "latest"}


def _manifests() -> Path:
    for place in PLACES:
        if (place / "overlays").is_dir():
            return place
    raise UsageError("manifests: the files in manifests/ are not installed")


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


def _renamed(value: Any, namespace: str) -> Any:
    """The value with another namespace wherever ours is named: references, selectors, names of certificates."""
    if isinstance(value, str):
        return value.replace(NAMESPACE, namespace)
    if isinstance(value, list):
        return [_renamed(item, namespace) for item in value]
    if isinstance(value, dict):
        return {key: _renamed(item, namespace) for key, item in value.items()}
    return value


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise ArgumentTypeError(f"{text!r} is no positive number")
    return number


def _namespace(text: str) -> str:
    from resourceapi.names import short_name

    if not text or short_name(text):
        raise ArgumentTypeError(f"{text!r} is no name of a namespace: lower case letters, digits and -")
    return text


def _url(text: str) -> str:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
        is_plain = parts.scheme == "https" and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_plain = False
    # API servers take neither of these in a webhook's URL, and the paths are ours
    if not is_plain or "@" in text or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ArgumentTypeError(f"{text!r} is not https://HOST[:PORT]")
    return f"https://{parts.netloc}"


def _failure_policy(text: str) -> tuple[str, str]:
    name, _, policy = text.rpartition("=")
    if policy not in POLICIES:
        raise ArgumentTypeError(f"{text!r} is not [WEBHOOK=]{'|'.join(POLICIES)}")
    return name, policy
