"""Somebody's own configuration in the manifests, in the place of the overlay's; the API server asks accordingly."""

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
# Where the service listens and what its certificates are depends on the other manifests: the first lines of an overlay's.
GIVEN = ("listen", "tls")
GIVEN_LINES = 3
CONDITION = "label-changes"
# Roles that only quota needs, and their bindings.
FOR_QUOTA = ("claimcheck-quota", "claimcheck-ledgers")


def use(objects: list[Object], file: str) -> None:
    """Put the configuration in a file into the ConfigMap, without what the manifests say about `listen` and `tls`.

    :raises UsageError: if it cannot be used; what is wrong has been printed.
    """
    (config_map,) = (obj for obj in objects if obj["kind"] == "ConfigMap")
    overlay = config_map["data"][NAME]
    given = overlay.splitlines()[:GIVEN_LINES]
    try:
        text = Path(file).read_text("utf-8")
    except OSError as error:
        raise UsageError(f"manifests: --config {file}: {(error.strerror or str(error)).lower()}") from None
    except ValueError:
        raise UsageError(f"manifests: --config {file}: not valid UTF-8") from None
    # at the end, so that mistakes are in the lines that they have in the file
    whole = "\n".join([text.rstrip(), *given, ""])
    _refuse_given(file)
    config = _checked(whole, file)
    wanted = _checked(overlay, NAME).get("apiServer", "serves")
    if config.get("apiServer", "serves") != wanted:
        raise UsageError(f"manifests: --config {file}: apiServer.serves must be {wanted} in this mode")
    config_map["data"][NAME] = whole
    _ask_about_labels(objects, config.document.value)
    if config.get("quota", "mode") != "Off":
        if not any(obj["metadata"]["name"] in FOR_QUOTA for obj in objects):
            raise UsageError(
                f"manifests: --config {file}: quota.mode: name who signs the API server's certificate with "
                "--client-authority, since only the API server may ask for quota"
            )
    else:
        objects[:] = [obj for obj in objects if obj["metadata"]["name"] not in FOR_QUOTA]


def _refuse_given(file: str) -> None:
    """
    :raises UsageError: if the file says what the manifests say, and where.
    """
    from documents.document import Document
    from documents.loading import load

    said = []
    for document in load([file]):
        if isinstance(document, Document):
            for name in GIVEN:
                if name in document.value:
                    place = document.locate_key((name,))
                    said.append(
                        f"{file}:{place.line}:{place.column}: {name} is given by the manifests: leave it out"
                    )
    if said:
        for problem in said:
            complain(problem)
        raise UsageError(f"manifests: --config {file}: {' and '.join(GIVEN)} are given by the manifests")


def _checked(text: str, file: str) -> Config:
    """The configuration, if the service would take it."""
    from serving.config_file import ConfigError
    from webhook.config import load_config

    with TemporaryDirectory() as directory:
        path = Path(directory) / NAME
        path.write_text(text, "utf-8")
        try:
            return load_config(str(path))
        except ConfigError as error:
            for problem in error.problems:
                complain(str(problem).replace(str(path), file))
            raise UsageError(
                f"manifests: --config {file} is no configuration ({' and '.join(GIVEN)} are given by the manifests)"
            ) from None


def _ask_about_labels(objects: list[Object], config: Object) -> None:
    """Let the API server ask about changes of the labels that the configuration guards."""
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
                    _, _, rest = condition["expression"].partition("]")
                    condition["expression"] = f"[{listed}]{rest}"
