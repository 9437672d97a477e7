"""Kubeconfig files as kubectl reads them (Kubernetes docs, "Organizing Cluster Access Using kubeconfig Files")."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from documents import Document, DocumentError, parse
from documents.source import read_file
from resourceapi.errors import ClaimcheckError
from resourceapi.phrases import did_you_mean, shortened

VARIABLE = "KUBECONFIG"
DEFAULT_FILE = Path(".kube", "config")
# Names that are listed in an error.
MAX_NAMES = 20
MAX_NAME = 253


class KubeconfigError(ClaimcheckError):
    """A kubeconfig that cannot be used; the text may quote it.

    ``hint``: what its author says that helps; may have several lines.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Entry(NamedTuple):
    """A cluster, user or context of a kubeconfig.

    ``directory``: of the file in which it stands; relative paths begin there.
    """

    name: str
    value: Mapping[str, Any]
    directory: Path

    def text(self, key: str) -> str:
        """A value that is a string; empty if it is absent.

        :raises KubeconfigError: if it is something else.
        """
        value = self.value.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise KubeconfigError(f"{key} of {_quoted(self.name)} is not a string")
        return value

    def path(self, key: str) -> Path | None:
        """A value that names a file; None if it is absent."""
        name = self.text(key)
        return self.directory / name if name else None


class Context(NamedTuple):
    """A cluster with the user that asks it, and the namespace of requests that name none (may be empty)."""

    name: str
    cluster: Entry
    user: Entry
    namespace: str


class Kubeconfig:
    """One or several files, merged.

    Of two clusters, users or contexts with the same name, the one of the first file counts, as a whole.
    """

    def __init__(self, files: Sequence[str]) -> None:
        """Read the files.

        :raises KubeconfigError: if one cannot be read.
        """
        self.files = files
        self.current_context = ""
        self._entries: dict[str, dict[str, Entry]] = {"cluster": {}, "user": {}, "context": {}}
        for file in files:
            self._add(file)

    @property
    def is_empty(self) -> bool:
        """Whether it describes nothing, as if there were no file."""
        return not self.current_context and not any(self._entries.values())

    def context(self, name: str = "") -> Context:
        """A context with its cluster and its user.

        :param name: empty: the current context.
        :raises KubeconfigError: if there is none, or it names what is not there.
        """
        contexts = self._entries["context"]
        if not contexts:
            raise KubeconfigError("it has no contexts, so it leads to no cluster")
        if not name and not self.current_context:
            raise KubeconfigError(f"no current context; choose one with --context{_choices(contexts)}")
        context = self._entry("context", name or self.current_context)
        cluster = self._entry("cluster", context.text("cluster"), of=context)
        user = context.text("user")
        return Context(
            context.name,
            cluster,
            self._entry("user", user, of=context) if user else Entry("", {}, context.directory),
            context.text("namespace"),
        )

    def _entry(self, noun: str, name: str, *, of: Entry | None = None) -> Entry:
        known = self._entries[noun]
        if name in known:
            return known[name]
        where = f", which the context {_quoted(of.name)} names" if of else ""
        if not name:
            raise KubeconfigError(f"the context {_quoted(of.name if of else '')} names no {noun}")
        meant = did_you_mean(name, known)
        raise KubeconfigError(
            f"there is no {noun} {_quoted(name)}{where}{f'; {meant}' if meant else _choices(known)}"
        )

    def _add(self, file: str) -> None:
        config = _read(file)
        directory = Path(file).absolute().parent
        for noun, entries in self._entries.items():
            for entry in _entries(config, noun, file, directory):
                entries.setdefault(entry.name, entry)
        current = config.get("current-context") or ""
        if not isinstance(current, str):
            raise KubeconfigError(f"{file}: current-context is not a string")
        self.current_context = self.current_context or current


def kubeconfig_files(environment: Mapping[str, str]) -> list[str]:
    """The files that kubectl reads if it is given none: those of ``$KUBECONFIG`` that exist, else ``~/.kube/config``.

    :returns: empty if there are none.
    """
    named = [name for name in environment.get(VARIABLE, "").split(os.pathsep) if name]
    if not named:
        home = environment.get("HOME", "")
        named = [str(Path(home) / DEFAULT_FILE)] if home else []
    return [name for name in dict.fromkeys(named) if os.path.lexists(name)]


def _read(file: str) -> Mapping[str, Any]:
    """The document in a file; empty if there is none."""
    found: Document | DocumentError | None
    try:
        found = next(parse(read_file(file), file), None)
    except DocumentError as error:
        found = error
    if isinstance(found, DocumentError):
        place = f"line {found.line}: " if found.line else ""
        raise KubeconfigError(f"{file}: {place}{found.message}")
    return {} if found is None else found.value


def _entries(config: Mapping[str, Any], noun: str, file: str, directory: Path) -> list[Entry]:
    """The clusters, users or contexts of a file; ``noun`` is the singular."""
    listed = config.get(f"{noun}s") or []
    if not isinstance(listed, list):
        raise KubeconfigError(f"{file}: {noun}s is not a list")
    found: dict[str, Entry] = {}
    for index, each in enumerate(listed):
        name = each.get("name") if isinstance(each, dict) else None
        value = (each.get(noun) or {}) if isinstance(each, dict) else None
        if not isinstance(name, str) or not isinstance(value, dict):
            raise KubeconfigError(f"{file}: {noun}s[{index}] is not a {noun} with a name")
        if name in found:
            raise KubeconfigError(f"{file}: there are two {noun}s with the name {_quoted(name)}")
        found[name] = Entry(name, value, directory)
    return list(found.values())


def _quoted(name: str) -> str:
    return f'"{shortened(name, MAX_NAME)}"'


def _choices(known: Mapping[str, Entry]) -> str:
    if not known:
        return ""
    names = sorted(known)
    more = ", …" if len(names) > MAX_NAMES else ""
    return f" (there are: {', '.join(shortened(name, MAX_NAME) for name in names[:MAX_NAMES])}{more})"
