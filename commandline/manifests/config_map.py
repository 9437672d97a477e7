"""``--config``: a user's configuration in place of the overlay's, and webhooks to match it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.errors import UsageError
from commandline.manifests.options import NAMESPACE
from commandline.manifests.own_config import Deployed, put_config
from resourceapi.objects import Object

if TYPE_CHECKING:
    from serving.config_file import Config

NAME = "webhook.yaml"
# These follow from the other manifests; they are the first lines of an overlay's configuration.
FIXED = ("listen", "tls")
FIXED_LINES = 3
# What only quota needs: roles, their bindings, and the namespace of ledgers.
QUOTA_OBJECTS = ("claimcheck-quota", "claimcheck-ledgers", "claimcheck-system-ledgers")


def use_config(objects: list[Object], file: str, *, is_elsewhere: bool = False) -> None:
    """Replace the configuration in the ConfigMap, but for `listen` and `tls`, and adapt webhooks and roles to it.

    :param objects: the rendered manifests; they are changed.
    :param is_elsewhere: whether the service does not run in the cluster, so that the manifests say nothing of its rights and files.
    :raises UsageError: if the configuration cannot be used; its errors are printed before.
    """
    (config_map,) = (obj for obj in objects if obj["kind"] == "ConfigMap")
    config = put_config(config_map, file, _deployed())
    if not is_elsewhere:
        _refuse_foreign_ledgers(config, file)
        _require_authority(config, file)
    _refuse_local_files(config, file)
    _match_guarded_labels(objects, config.document.value)
    if config.get("quota", "mode") != "Off":
        if not any(obj["metadata"]["name"] in QUOTA_OBJECTS for obj in objects):
            raise UsageError(
                f"manifests: --config {file}: quota.mode needs --client-authority with the authority of the "
                "API server's client certificate, as only the API server may use quota"
            )
    else:
        objects[:] = [obj for obj in objects if obj["metadata"]["name"] not in QUOTA_OBJECTS]


def _deployed() -> Deployed:
    from webhook.config import load_config

    return Deployed(NAME, FIXED, FIXED_LINES, load_config)


def _refuse_foreign_ledgers(config: Config, file: str) -> None:
    """Reject another namespace for ledgers than the one into which the service may write.

    :raises UsageError: if there is one.
    """
    ledgers = f"{NAMESPACE}-ledgers"
    reserves = config.get("apiServer", "serves") == "CustomResources"
    if reserves and config.get("quota", "namespace") not in (None, ledgers):
        place = config.document.locate_key(("quota", "namespace"))
        message = f"remove quota.namespace: the service may write its ledgers into {ledgers} only"
        raise UsageError(f"manifests: --config {file}:{place.line}:{place.column}: {message}")


def _require_authority(config: Config, file: str) -> None:
    """Reject a configuration with which the service would not start, as everybody could ask about devices.

    :raises UsageError: if it is one.
    """
    feasibility = ("policies", "feasibility")
    if (
        config.get(*feasibility, "mode") == "Enforce"
        and config.get("apiServer", "devices") == "Watch"
        and not config.get(*feasibility, "insecureSkipClientVerify")
        and config.get("tls", "clientAuthorityFile") is None
    ):
        raise UsageError(
            f"manifests: --config {file}: policies.feasibility.mode needs --client-authority with the authority of the "
            "API server's client certificate, as only the API server may ask about devices"
        )


def _refuse_local_files(config: Config, file: str) -> None:
    """Reject settings that name files which pods do not have.

    :raises UsageError: with the first of them.
    """
    found: list[tuple[tuple[str | int, ...], str]] = []
    if config.get("inventory"):
        found.append(
            (("inventory",), "remove inventory: in a cluster, `apiServer` says what is watched instead")
        )
    for index, entry in enumerate(config.get("policies", "opaqueParameters", "schemas") or ()):
        if "schemaFile" in entry:
            at = ("policies", "opaqueParameters", "schemas", index, "schemaFile")
            found.append((at, "put the schema itself under `schema`: pods do not have this file"))
    for path, message in found:
        place = config.document.locate_key(path)
        raise UsageError(f"manifests: --config {file}:{place.line}:{place.column}: {message}")


def _match_guarded_labels(objects: list[Object], config: Object) -> None:
    """Let the API server call the webhook for changes of the labels that the configuration guards."""
    from webhook.label_guard import BUILT_IN_LABEL, CONDITION, in_cel

    policies = config.get("policies") or {}
    guard = policies.get("adminAccessLabels") or {}
    labels = guard.get("labels", (policies.get("adminAccess") or {}).get("labels", ()))
    keys = dict.fromkeys([BUILT_IN_LABEL.key, *(label["key"] for label in labels)])
    listed = ", ".join(map(in_cel, keys))
    for obj in objects:
        for webhook in obj.get("webhooks", ()):
            for condition in webhook.get("matchConditions", ()):
                if condition["name"] == CONDITION:
                    _, _, remainder = condition["expression"].partition("]")
                    condition["expression"] = f"[{listed}]{remainder}"
