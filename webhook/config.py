"""The configuration file of ``claimcheck serve``: YAML or JSON, checked against ``config.schema.json``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema

from documents.document import Document
from documents.errors import DocumentError
from documents.loading import load


class ConfigError(Exception):
    """A configuration that cannot be used; ``problems`` have file, line and column."""

    def __init__(self, problems: list[DocumentError]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


class Config:
    """A valid configuration; :meth:`get` gives values, defaults included."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.directory = Path(document.file).parent

    def get(self, *path: str) -> Any:
        """The value at a path of names: as written, else the schema's default, else None."""
        value: Any = self.document.value
        schema: Any = schema_of_config()
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
            schema = schema["properties"][name]
        return schema.get("default") if value is None else value

    def path(self, name: str) -> Path:
        """A path in the configuration, which is relative to its file."""
        return self.directory / name

    def error(self, path: tuple[str | int, ...], message: str) -> ConfigError:
        """An error about a place in the file."""
        return ConfigError([self.document.error(path, message)])


def load_config(file: str) -> Config:
    """Read a configuration.

    :raises ConfigError: with everything that is wrong, in the order of the file.
    """
    found = list(load([file]))
    problems = [item for item in found if isinstance(item, DocumentError)]
    documents = [item for item in found if isinstance(item, Document)]
    if not problems and len(documents) != 1:
        problems = [DocumentError(file, 0, 0, f"expected one document, found {len(documents)}")]
    if problems:
        raise ConfigError(problems)
    document = documents[0]
    _spell_out(document.value, schema_of_config())
    problems = list(_violations(document))
    if problems:
        raise ConfigError(sorted(problems, key=lambda problem: (problem.line, problem.column)))
    return Config(document)


@cache
def schema_of_config() -> dict[str, Any]:
    """The published JSON Schema of the file."""
    schema: dict[str, Any] = json.loads(files("webhook").joinpath("config.schema.json").read_text("utf-8"))
    return schema


def _spell_out(value: Any, schema: dict[str, Any]) -> None:
    """Read as a word what YAML takes for a truth value: an unquoted ``Off``."""
    for name, member in schema.get("properties", {}).items():
        found = value.get(name) if isinstance(value, dict) else None
        if found is False and "Off" in member.get("enum", ()):
            value[name] = "Off"
        else:
            _spell_out(found, member)


def misread_keys(document: Document) -> Iterator[DocumentError]:
    """Keys that YAML takes for a truth value: an unquoted ``y`` or ``on`` is the key ``true``, as kubectl reads it, too."""
    pending: list[tuple[tuple[str | int, ...], Any]] = [((), document.value)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict):
            for key, member in value.items():
                pending.append(((*path, key), member))
                if key in ("true", "false"):
                    place = document.locate_key((*path, key))
                    line = document.source_line(place.line)
                    word = line[place.column - 1 : place.column - 1 + place.length]
                    if word.strip("'\"").lower() != key and word.isalpha():
                        message = f"{_name((*path, key))}: the key {word} is read as {key}, as in YAML 1.1: write '{word}'"
                        yield DocumentError(document.file, place.line, place.column, message)
        elif isinstance(value, list):
            pending.extend(((*path, index), member) for index, member in enumerate(value))


def _violations(document: Document) -> Iterator[DocumentError]:
    yield from misread_keys(document)
    for key, first, again in document.locate_repeated_keys():
        yield DocumentError(
            document.file,
            again.line,
            again.column,
            f"{_name(key)}: the key is there already in line {first.line}",
        )
    for error in jsonschema.Draft202012Validator(schema_of_config()).iter_errors(document.value):
        yield from _explained(document, error)


def _explained(document: Document, error: jsonschema.ValidationError) -> Iterator[DocumentError]:
    path = tuple(error.absolute_path)
    schema, instance = error.schema, error.instance
    if error.validator == "additionalProperties" and isinstance(instance, dict) and isinstance(schema, dict):
        known = schema["properties"]
        for name in instance:
            if name not in known:
                place = document.locate_key((*path, name))
                message = f"{_name((*path, name))}: unknown field; known are {', '.join(known)}"
                yield DocumentError(document.file, place.line, place.column, message)
    elif error.validator == "dependentRequired" and isinstance(schema, dict) and isinstance(instance, dict):
        for name, needed in schema["dependentRequired"].items():
            missing = [other for other in needed if other not in instance]
            # there is an error for each name
            if name in instance and missing and error.message.endswith(repr(name)):
                others = " and ".join(f"`{_name((*path, other))}`" for other in missing)
                place = document.locate_key((*path, name))
                message = f"{_name((*path, name))}: needs {others} too"
                yield DocumentError(document.file, place.line, place.column, message)
    elif error.validator == "oneOf" and isinstance(schema, dict):
        alternatives = " or ".join(" and ".join(choice["required"]) for choice in schema["oneOf"])
        yield document.error(path, f"{_name(path)}: needs exactly one of: {alternatives}")
    else:
        yield document.error(path, f"{_name(path)}: {error.message}" if path else error.message)


def _name(path: tuple[str | int, ...]) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
