"""``--config``: a user's configuration in place of the overlay's, and webhooks to match it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from commandline.errors import UsageError
from commandline.reports.escaping import complain
from resourceapi.objects import Object

if TYPE_CHECKING:
    from serving.config_file import Config

NAME = "webhook.yaml"
# These follow from the other manifests; they are the first lines of an overlay's configuration.
FIXED = ("listen", "tls")
FIXED_LINES = 3
CONDITION = "label-changes"
# Roles that only quota needs, and their bindings.
QUOTA_ROLES = ("claimcheck-quota", "claimcheck-ledgers")


def use_config(objects: list[Object], file: str) -> None:
    """Replace the configuration in the ConfigMap, but for `listen` and `tls`, and adapt webhooks and roles to it.

    :param objects: the rendered manifests; they are changed.
    :raises UsageError: if the configuration cannot be used; its errors are printed before.
    """
    (config_map,) = (obj for obj in objects if obj["kind"] == "ConfigMap")
    overlay = config_map["data"][NAME]
    fixed = overlay.splitlines()[:FIXED_LINES]
    try:
        content = Path(file).read_text("utf-8")
    except OSError as error:
        raise UsageError(f"manifests: --config {file}: {(error.strerror or str(error)).lower()}") from None
    except ValueError:
        raise UsageError(f"manifests: --config {file}: not valid UTF-8") from None
    # at the end, so that errors have the line numbers of the file
    merged = "\n".join([content.rstrip(), *fixed, ""])
    _refuse_fixed(file)
    config = _checked(merged, file)
    wanted = _checked(overlay, NAME).get("apiServer", "serves")
    if config.get("apiServer", "serves") != wanted:
        raise UsageError(f"manifests: --config {file}: apiServer.serves must be {wanted} in this mode")
    config_map["data"][NAME] = merged
    _match_guarded_labels(objects, config.document.value)
    if config.get("quota", "mode") != "Off":
        if not any(obj["metadata"]["name"] in QUOTA_ROLES for obj in objects):
            raise UsageError(
                f"manifests: --config {file}: quota.mode needs --client-authority with the authority of the "
                "API server's client certificate, as only the API server may use quota"
            )
    else:
        objects[:] = [obj for obj in objects if obj["metadata"]["name"] not in QUOTA_ROLES]


def _refuse_fixed(file: str) -> None:
    """Reject a file that sets what the manifests set.

    :raises UsageError: after the places in the file have been printed.
    """
    from documents.document import Document
    from documents.loading import load

    found = []
    for document in load([file]):
        if isinstance(document, Document):
            for name in FIXED:
                if name in document.value:
                    place = document.locate_key((name,))
                    found.append(
                        f"{file}:{place.line}:{place.column}: remove {name}, which the manifests set"
                    )
    if found:
        for problem in found:
            complain(problem)
        raise UsageError(f"manifests: --config {file}: {' and '.join(FIXED)} are set by the manifests")


def _checked(content: str, file: str) -> Config:
    """Load a configuration as the service does."""
    from serving.config_file import ConfigError
    from webhook.config import load_config

    with TemporaryDirectory() as directory:
        path = Path(directory) / NAME
        path.write_text(content, "utf-8")
        try:
            return load_config(str(path))
        except ConfigError as error:
            for problem in error.problems:
                complain(str(problem).replace(str(path), file))
            raise UsageError(
                f"manifests: --config {file} is not a valid configuration ({' and '.join(FIXED)} are set by the manifests)"
            ) from None


def _match_guarded_labels(objects: list[Object], config: Object) -> None:
    """Let the API server call the webhook for changes of the labels that the configuration guards."""
    from webhook.label_guard import BUILT_IN

    policies = config.get("policies") or {}
    guard = policies.get("adminAccessLabels") or {}
    labels = guard.get("labels", (policies.get("adminAccess") or {}).get("labels", ()))
    keys = dict.fromkeys([BUILT_IN.key, *(label["key"] for label in labels)])
    listed = ", ".join("'" + key.replace("\\", "\\\\").replace("'", "\\'") + "'" for key in keys)
    for obj in objects:
        for webhook in obj.get("webhooks", ()):
            for condition in webhook.get("matchConditions", ()):
                if condition["name"] == CONDITION:
                    _, _, remainder = condition["expression"].partition("]")
                    condition["expression"] = f"[{listed}]{remainder}"
