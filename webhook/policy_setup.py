"""From a configuration to the policies for admin access, its labels, and opaque parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from documents.document import Document
from documents.errors import DocumentError
from documents.loading import load
from serving.config_file import Config, ConfigError, misread_keys
from webhook.context import OFF, ObjectPolicy
from webhook.label_guard import LabelGuard
from webhook.labels import LabelRule
from webhook.policies import AdminAccess, OpaqueParameters, SchemaKey
from webhook.schemas import SchemaError, compile_schema

Step = str | int


def _labels(config: Config, policy: str) -> list[LabelRule]:
    found = config.get("policies", policy)
    return [LabelRule(label["key"], label.get("value")) for label in (found or {}).get("labels", ())]


def make_label_guard(config: Config) -> LabelGuard | None:
    """What guards the labels that allow admin access, None if that is off."""
    guard = config.get("policies", "adminAccessLabels")
    if not guard or guard["mode"] == OFF:
        return None
    return LabelGuard(
        guard["mode"],
        _labels(config, "adminAccessLabels" if "labels" in guard else "adminAccess"),
        users=guard.get("users", ()),
        groups=guard.get("groups", ()),
    )


def make_policies(config: Config) -> Iterator[ObjectPolicy]:
    """The policies that are not off.

    :raises ConfigError: for schemas that cannot be read or compiled, or that are there twice.
    """
    admin = config.get("policies", "adminAccess")
    if admin and admin["mode"] != OFF:
        yield AdminAccess(admin["mode"], _labels(config, "adminAccess"))
    opaque = config.get("policies", "opaqueParameters")
    if opaque and opaque["mode"] != OFF:
        at = ("policies", "opaqueParameters", "schemas")
        validators = {}
        for index, entry in enumerate(opaque["schemas"]):
            key = SchemaKey(entry["driver"], entry["apiVersion"], entry["kind"])
            if key in validators:
                raise config.error(
                    (*at, index), "there is a schema for this driver, apiVersion and kind above"
                )
            document, schema, path = _schema(config, entry, (*at, index))
            try:
                validators[key] = compile_schema(schema)
            except SchemaError as error:
                raise ConfigError([document.error((*path, *error.path), error.message)]) from None
        yield OpaqueParameters(opaque["mode"], validators)


def _schema(
    config: Config, entry: dict[str, Any], path: tuple[Step, ...]
) -> tuple[Document, Any, tuple[Step, ...]]:
    """A schema with the document and the place in which it stands."""
    if "schemaFile" not in entry:
        return config.document, entry["schema"], (*path, "schema")
    found = list(load([str(config.path(entry["schemaFile"]))]))
    if len(found) != 1:
        raise config.error((*path, "schemaFile"), f"expected one document in the file, found {len(found)}")
    if isinstance(found[0], DocumentError):
        raise ConfigError([found[0]])
    misread = list(misread_keys(found[0]))
    if misread:
        raise ConfigError(misread)
    return found[0], found[0].value, ()
