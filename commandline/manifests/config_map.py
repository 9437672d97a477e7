"""``--config``: a user's configuration in place of the overlay's, and webhooks to match it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from commandline.errors import UsageError
from commandline.manifests.options import NAMESPACE
from commandline.reports.escaping import complain
from resourceapi.objects import Object

if TYPE_CHECKING:
    from serving.config_file import Config


class Deployed(NamedTuple):
    """How a service's configuration is deployed.

    :param file: its name in the ConfigMap.
    :param fixed: settings that follow from the other manifests.
    :param fixed_lines: how many lines they take, which are the first ones of the overlay's configuration.
    :param load: reads a configuration as the service does.
    """

    file: str
    fixed: tuple[str, ...]
    fixed_lines: int
    load: Callable[[str], Config]


def put_config(config_map: Object, given: str, deployed: Deployed) -> Config:
    """Replace the configuration in a ConfigMap, but for what is fixed.

    :param given: the file with the user's.
    :returns: the configuration as it is deployed, with the places of the user's file.
    :raises UsageError: if it cannot be used; its errors are printed before.
    """
    overlay = config_map["data"][deployed.file]
    fixed = overlay.splitlines()[: deployed.fixed_lines]
    # at the end, and without moving what is there, so that errors have the line numbers of the file
    lines = _lines_without_fixed(given, deployed.fixed)
    merged = "\n".join([*(line or "" for line in lines), *fixed, ""])
    config = _checked(merged, given, deployed)
    wanted = _checked(overlay, deployed.file, deployed).get("apiServer", "serves")
    if config.get("apiServer", "serves") != wanted:
        raise UsageError(f"manifests: --config {given}: apiServer.serves must be {wanted} in this mode")
    own = "\n".join(line for line in lines if line is not None).rstrip()
    config_map["data"][deployed.file] = "\n".join([own, *fixed, ""])
    return config


def _lines_without_fixed(file: str, fixed: tuple[str, ...]) -> list[str | None]:
    """The lines of a configuration; None for those about what is fixed, which are for outside of a cluster.

    :raises UsageError: if the file cannot be read, or if these share lines with other settings.
    """
    from documents import load
    from documents.document import Document

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
        for name in fixed:
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


def _is_comment(line: str | None) -> bool:
    return line is not None and (not line.strip() or line.startswith("#"))


def _checked(content: str, file: str, deployed: Deployed) -> Config:
    """Load a configuration as the service does."""
    from serving.config_file import ConfigError

    with TemporaryDirectory() as directory:
        path = Path(directory) / deployed.file
        path.write_text(content, "utf-8")
        try:
            return deployed.load(str(path))
        except ConfigError as error:
            complain(*(str(problem).replace(str(path), file) for problem in error.problems))
            raise UsageError(
                f"manifests: --config {file} is not a valid configuration ({_listed(deployed.fixed)} are set by the manifests)"
            ) from None


def _listed(names: tuple[str, ...]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}"


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
