"""Keeps the service's authorities in the objects that tell the API server whom to trust: webhook configurations and CRDs.

The objects are checked again and again, since applying the manifests anew removes the bundle.
"""

from __future__ import annotations

import logging
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

from resourceapi.api_client import CONFLICT, NOT_FOUND, OK, Api, Unavailable
from resourceapi.logs import log
from resourceapi.manifests import entries, mapping
from serving import certificate_store
from serving.api_server import make_client
from serving.certificate_store import CURRENT, Keeper, certificates_are_own, own_directory
from serving.certificates import BUNDLE
from serving.config_file import Config

SECONDS = 5.0
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
COLLECTIONS = {
    "validatingWebhookConfigurations": f"{ADMISSION}/validatingwebhookconfigurations",
    "mutatingWebhookConfigurations": f"{ADMISSION}/mutatingwebhookconfigurations",
    "customResourceDefinitions": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
}
# What cert-manager's injector looks for: inject-ca-from, inject-ca-from-secret, inject-apiserver-ca.
CERT_MANAGER = "cert-manager.io/inject-"


class Target(NamedTuple):
    """An object to keep the bundle in: one of ``COLLECTIONS`` and a name."""

    collection: str
    name: str

    @property
    def path(self) -> str:
        """The path of the object at the API server."""
        return f"{COLLECTIONS[self.collection]}/{self.name}"


class Injection:
    """Keeps the CA bundle of a file in objects of a cluster."""

    def __init__(self, api: Api, bundle: Path, targets: Sequence[Target]) -> None:
        self._api = api
        self._bundle = bundle
        self._targets = tuple(targets)
        self._reported: dict[Target, str] = {}

    def run(self, ending: Event) -> None:
        """Check the objects every few seconds until ``ending`` is set."""
        self.inject()
        while not ending.wait(SECONDS):
            self.inject()

    def is_everywhere(self, pem: bytes) -> bool:
        """Whether an authority (PEM) is in all objects that exist, except those whose bundle cert-manager injects."""
        try:
            found = [self._api.request("GET", target.path) for target in self._targets]
        except Unavailable:
            return False
        return all(
            code == NOT_FOUND
            or (code == OK and isinstance(obj, dict) and (_is_cert_managers(obj) or _has(obj, pem)))
            for code, obj in found
        )

    def inject(self) -> None:
        """Write the bundle into objects that lack it; a failure is logged once, and tried again the next time."""
        for target in self._targets:
            try:
                problem = self._inject(target, b64encode(self._bundle.read_bytes()).decode("ascii"))
            except (Unavailable, OSError) as error:
                problem = str(error)
            except Exception as error:  # noqa: BLE001 - one object does not end the work for others
                problem = f"{type(error).__name__}: {error}"
            if problem and self._reported.get(target) != problem:
                log(logging.WARNING, "bundle not injected", target=target.path, reason=problem)
            self._reported[target] = problem

    def _inject(self, target: Target, bundle: str) -> str:
        """Write the bundle into one object if it lacks it; return what is wrong, or an empty string."""
        code, obj = self._api.request("GET", target.path)
        if code != OK or not isinstance(obj, dict):
            return "there is no such object" if code == NOT_FOUND else f"GET: {code}"
        if _is_cert_managers(obj):
            return "its bundle is injected by cert-manager, as its annotations say"
        stale = [config for config in client_configs(obj) if config.get("caBundle") != bundle]
        if not stale:
            return ""
        for config in stale:
            config["caBundle"] = bundle
        # with the resourceVersion that was read: a change in between is a conflict, and looked at the next time
        code, _ = self._api.request("PUT", target.path, obj)
        if code == OK:
            log(logging.INFO, "bundle injected", target=target.path, webhooks=len(stale))
        return "" if code in (OK, CONFLICT) else f"PUT: {code}"


def _is_cert_managers(obj: dict[str, Any]) -> bool:
    return any(key.startswith(CERT_MANAGER) for key in mapping(obj, "metadata", "annotations"))


def _has(obj: dict[str, Any], pem: bytes) -> bool:
    """Whether an authority is in every bundle of an object."""
    try:
        bundles = [b64decode(config["caBundle"]) for config in client_configs(obj)]
    except (KeyError, TypeError, ValueError):
        return False
    return all(pem.strip() in bundle for bundle in bundles)


def client_configs(obj: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every ``clientConfig`` of a webhook configuration or a CRD with a conversion webhook."""
    owners = [*entries(obj, "webhooks"), mapping(obj, "spec", "conversion", "webhook")]
    for owner in owners:
        if isinstance(owner, dict) and isinstance(owner.get("clientConfig"), dict):
            yield owner["clientConfig"]


def make_keeper(config: Config, runtime: Path) -> Keeper | None:
    """What makes and renews own certificates, the next authority not before it is injected; None if they are given.

    :param runtime: a directory of this service alone, for as long as it runs.
    :raises ConfigError: as :func:`serving.certificate_store.make_keeper` and :func:`make_injection`.
    """
    injection = make_injection(config, runtime) if certificates_are_own(config) else None
    is_trusted = None if injection is None else injection.is_everywhere
    return certificate_store.make_keeper(config, runtime, "webhook", is_trusted)


def injects_itself(config: Config) -> bool:
    """Whether the service itself writes its authorities into objects of the cluster."""
    return bool(config.get("tls", "inject", "by") == "serve")


def make_injection(config: Config, runtime: Path, bundle: Path | None = None) -> Injection | None:
    """What keeps the own authorities in objects of the cluster; None if there are no such objects.

    :param runtime: as for :func:`make_keeper`.
    :param bundle: the file with the authorities, if it is not the service's own.
    :raises ConfigError: if certificates are given, or the API server's authorities cannot be read.
    """
    targets = [
        Target(collection, name)
        for collection in COLLECTIONS
        for name in config.get("tls", "inject", collection)
    ]
    if not targets:
        return None
    if not certificates_are_own(config):
        raise config.error(("tls", "inject"), "tls.inject: only for own certificates (directory or secret)")
    return Injection(
        make_client(config), bundle or own_directory(config, runtime) / CURRENT / BUNDLE, targets
    )
