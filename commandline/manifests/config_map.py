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
    # at the end, and without moving what is there, so that errors have the line numbers of the file
    lines = _lines_without_fixed(file)
    merged = "\n".join([*(line or "" for line in lines), *fixed, ""])
    config = _checked(merged, file)
    _refuse_local_files(config, file)
    wanted = _checked(overlay, NAME).get("apiServer", "serves")
    if config.get("apiServer", "serves") != wanted:
        raise UsageError(f"manifests: --config {file}: apiServer.serves must be {wanted} in this mode")
    own = "\n".join(line for line in lines if line is not None).rstrip()
    config_map["data"][NAME] = "\n".join([own, *fixed, ""])
    _match_guarded_labels(objects, config.document.value)
    if config.get("quota", "mode") != "Off":
        if not any(obj["metadata"]["name"] in QUOTA_ROLES for obj in objects):
            raise UsageError(
                f"manifests: --config {file}: quota.mode needs --client-authority with the authority of the "
                "API server's client certificate, as only the API server may use quota"
            )
    else:
        objects[:] = [obj for obj in objects if obj["metadata"]["name"] not in QUOTA_ROLES]


def _lines_without_fixed(file: str) -> list[str | None]:
    """The lines of a configuration; None for those about `listen` and `tls`, which are for `serve` outside of a cluster.

    :raises UsageError: if the file cannot be read, or if these two share lines with other settings.
    """
    from documents.document import Document
    from documents.loading import load

    try:
        lines: list[str | None] = [*Path(file).read_text("utf-8").rstrip().splitlines()]
    except OSError as error:
        raise UsageError(f"manifests: --config {file}: {(error.strerror or str(error)).lower()}") from None
    except ValueError:
        raise UsageError(f"manifests: --config {file}: not valid UTF-8") from None
    for document in load([file]):
        if not isinstance(document, Document):
            continue  # an error that is reported with all others
        keys = {key: document.locate_key((key,)) for key in document.value}
        begins = [place.line for place in keys.values()]
        for name in FIXED:
            if name not in keys:
                continue
            place = keys[name]
            if place.column > 1 or begins.count(place.line) > 1:
                raise UsageError(
                    f"manifests: --config {file}:{place.line}:{place.column}: remove {name}, which the manifests set, "
                    "or write it on lines of its own"
                )
            end = min((line for line in begins if line > place.line), default=len(lines) + 1)
            while end - 1 > place.line and _is_comment(lines[end - 2]):
                end -= 1  # above the next setting, and about that
            lines[place.line - 1 : end - 1] = [None] * (end - place.line)
    return lines


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


def _is_comment(line: str | None) -> bool:
    return line is not None and (not line.strip() or line.startswith("#"))


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
