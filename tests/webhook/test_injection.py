"""The bundle in webhook configurations and CRDs: put in, put back, and otherwise left alone."""

from __future__ import annotations

import base64
import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from resourceapi.api_client import Unavailable
from webhook.injection import Injection, Target

VALIDATING = Target("validatingWebhookConfigurations", "claimcheck")
CRD = Target("customResourceDefinitions", "resourceclaims.resource.k8s.io")
BUNDLE = base64.b64encode(b"bundle").decode()


class Objects:
    """An API server with a few objects; `requests` are what it was asked."""

    def __init__(self) -> None:
        two = [{"name": name, "clientConfig": {"url": "https://a"}} for name in ("a", "b")]
        webhook = {"clientConfig": {"service": {"name": "s"}, "caBundle": "b2xk"}}
        self.stored: dict[str, Any] = {
            VALIDATING.path: {"metadata": {"resourceVersion": "1"}, "webhooks": two},
            CRD.path: {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}},
        }
        self.requests: list[str] = []
        self.conflict = False
        self.down = False

    def request(
        self, verb: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        self.requests.append(verb)
        if self.down:
            raise Unavailable("no answer")
        if path not in self.stored:
            return 404, {}
        if verb == "PUT":
            if self.conflict:
                return 409, {}
            self.stored[path] = body
        return 200, copy.deepcopy(self.stored[path])


@pytest.fixture
def objects() -> Objects:
    return Objects()


@pytest.fixture
def injection(tmp_path: Path, objects: Objects) -> Injection:
    (tmp_path / "ca.crt").write_bytes(b"bundle")
    missing = Target("mutatingWebhookConfigurations", "missing")
    return Injection(objects, tmp_path / "ca.crt", [missing, VALIDATING, CRD])


def bundles(objects: Objects) -> list[str | None]:
    webhooks = objects.stored[VALIDATING.path]["webhooks"]
    conversion = objects.stored[CRD.path]["spec"]["conversion"]["webhook"]
    return [owner["clientConfig"].get("caBundle") for owner in (*webhooks, conversion)]


def test_bundle_is_injected_everywhere(injection: Injection, objects: Objects) -> None:
    """All webhooks of all objects get it, whether they have none or another; one missing object is in no one's way."""
    injection.inject()
    assert bundles(objects) == [BUNDLE] * 3
    assert objects.stored[VALIDATING.path]["metadata"] == {"resourceVersion": "1"}


def test_nothing_is_written_without_need(injection: Injection, objects: Objects) -> None:
    """Where the bundle is already, nothing is written."""
    injection.inject()
    objects.requests.clear()
    injection.inject()
    assert objects.requests == ["GET"] * 3


def test_bundle_is_put_back(injection: Injection, objects: Objects) -> None:
    """What somebody has overwritten is restored."""
    injection.inject()
    objects.stored[VALIDATING.path]["webhooks"][1]["clientConfig"].pop("caBundle")
    injection.inject()
    assert bundles(objects) == [BUNDLE] * 3


def test_new_bundle_follows(injection: Injection, objects: Objects, tmp_path: Path) -> None:
    """When authorities are rotated, the new bundle replaces the old one."""
    injection.inject()
    (tmp_path / "ca.crt").write_bytes(b"both")
    injection.inject()
    assert bundles(objects) == [base64.b64encode(b"both").decode()] * 3


@pytest.mark.parametrize("annotation", ["inject-ca-from", "inject-ca-from-secret", "inject-apiserver-ca"])
def test_cert_managers_objects_are_left_to_it(
    injection: Injection, objects: Objects, annotation: str
) -> None:
    """Where cert-manager injects its authority, ours stays out, so that they do not overwrite each other."""
    metadata = objects.stored[VALIDATING.path]["metadata"]
    metadata["annotations"] = {f"cert-manager.io/{annotation}": "system/leaf"}
    injection.inject()
    assert bundles(objects) == [None, None, BUNDLE]


def test_an_authority_is_everywhere(injection: Injection, objects: Objects) -> None:
    """An authority counts as trusted once it is in every bundle of the objects that are there and ours."""
    assert not injection.is_everywhere(b"bundle")
    injection.inject()
    assert injection.is_everywhere(b"bundle")
    assert not injection.is_everywhere(b"other")
    webhook = objects.stored[VALIDATING.path]["webhooks"][1]["clientConfig"]
    for wrong in ("*", 1, base64.b64encode(b"other").decode()):
        webhook["caBundle"] = wrong
        assert not injection.is_everywhere(b"bundle")
    objects.stored[VALIDATING.path]["metadata"]["annotations"] = {"cert-manager.io/inject-ca-from": "a/b"}
    assert injection.is_everywhere(b"bundle")
    objects.down = True
    assert not injection.is_everywhere(b"bundle")


@pytest.mark.parametrize("trouble", ["conflict", "down"])
def test_trouble_passes(injection: Injection, objects: Objects, trouble: str) -> None:
    """A conflict, or an API server without an answer, is tried again the next time."""
    setattr(objects, trouble, True)
    injection.inject()
    assert bundles(objects) == [None, None, "b2xk"]
    setattr(objects, trouble, False)
    injection.inject()
    assert bundles(objects) == [BUNDLE] * 3
