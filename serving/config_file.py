"""Configuration files of services: YAML or JSON, checked against a JSON Schema that also has the defaults."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema

from documents import load
from documents.document import Document
from documents.errors import DocumentError
from resourceapi.errors import ClaimcheckError


class ConfigError(ClaimcheckError):
    """A configuration that cannot be used; each of its ``problems`` has file, line and column."""

    def __init__(self, problems: list[DocumentError]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


class Config:
    """A valid configuration."""

    def __init__(self, document: Document, schema: dict[str, Any]) -> None:
        self.document = document
        self._schema = schema
        self.directory = Path(document.file).parent
        #: whether files whose names are defaults are left unread: they are where the configuration will be used
        self.is_only_checked = False
        #: the settings of which that was so
        self.left_unread: set[tuple[str, ...]] = set()

    def get(self, *path: str) -> Any:
        """The value at a path of names: from the file, else the schema's default, else None."""
        value: Any = self.document.value
        schema: Any = self._schema
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
            schema = schema["properties"][name]
        return schema.get("default") if value is None else value

    def names(self, *path: str) -> bool:
        """Whether the file itself has a value at a path of names."""
        value: Any = self.document.value
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value is not None

    def path(self, name: str) -> Path:
        """A path of the file system in the configuration, which is relative to its file."""
        return self.directory / name

    def error(self, path: tuple[str | int, ...], message: str) -> ConfigError:
        """An error about a place in the file."""
        return ConfigError([self.document.error(path, message)])

    def file_error(self, path: tuple[str, ...], error: OSError) -> ConfigError:
        """An error about a file that a setting names, or that is the setting's default: its key, path and reason."""
        file = self.path(self.get(*path))
        default = "" if self.names(*path) else " (the default)"
        reason = (error.strerror or str(error)).lower()
        return self.error(path, f"{'.'.join(path)}: cannot use {file}{default}: {reason}")


def assembled(schema: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a service's configuration, with the sections that all services have.

    :param schema: of the service; a property with ``$extends`` is the section of that name, with what is written beside
        it added: to texts and lists in place of the section's, to objects member by member.
    """
    sections = json.loads(files("serving").joinpath("config.sections.json").read_text("utf-8"))
    properties = {
        name: _merged(
            sections[member["$extends"]], {key: each for key, each in member.items() if key != "$extends"}
        )
        if "$extends" in member
        else member
        for name, member in schema["properties"].items()
    }
    return {**schema, "properties": properties}


def _merged(section: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    return section | {
        key: _merged(section[key], value)
        if isinstance(value, dict) and isinstance(section.get(key), dict)
        else value
        for key, value in more.items()
    }


def read_config(file: str, schema: dict[str, Any]) -> Config:
    """Read a configuration.

    :param schema: a JSON Schema (draft 2020-12) of nested ``properties``.
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
    _read_words(document.value, schema)
    problems = list(_violations(document, schema))
    if problems:
        raise ConfigError(sorted(problems, key=lambda problem: (problem.line, problem.column)))
    return Config(document, schema)


def _read_words(value: Any, schema: dict[str, Any]) -> None:
    """Read an unquoted ``Off``, which YAML takes for a truth value, as a word where the schema has that word."""
    for name, member in schema.get("properties", {}).items():
        found = value.get(name) if isinstance(value, dict) else None
        if found is False and "Off" in member.get("enum", ()):
            value[name] = "Off"
        else:
            _read_words(found, member)


def misread_keys(document: Document) -> Iterator[DocumentError]:
    """Errors about keys that YAML takes for a truth value: an unquoted ``y`` or ``on`` is the key ``true``, for kubectl too."""
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


def _violations(document: Document, schema: dict[str, Any]) -> Iterator[DocumentError]:
    yield from misread_keys(document)
    for key, first, again in document.locate_repeated_keys():
        yield DocumentError(
            document.file,
            again.line,
            again.column,
            f"{_name(key)}: the key is there already in line {first.line}",
        )
    for error in jsonschema.Draft202012Validator(schema).iter_errors(document.value):
        yield from _located(document, error)


def _located(document: Document, error: jsonschema.ValidationError) -> Iterator[DocumentError]:
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
    elif error.validator == "required" and isinstance(schema, dict):
        for name in schema["required"]:
            if error.message.startswith(repr(name)):  # there is an error for each name
                yield document.error(path, f"{_name((*path, name))}: is missing; add `{name}:`{_below(path)}")
    elif error.validator == "oneOf" and isinstance(schema, dict):
        alternatives = " or ".join(" and ".join(choice["required"]) for choice in schema["oneOf"])
        yield document.error(path, f"{_name(path)}: needs exactly one of: {alternatives}")
    else:
        yield document.error(path, f"{_name(path)}: {error.message}" if path else error.message)


def _below(path: tuple[str | int, ...]) -> str:
    return f" below `{_name(path)}`" if path else " at the top level"


def _name(path: tuple[str | int, ...]) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
