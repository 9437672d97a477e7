"""What an answer depends on besides the object: labels of namespaces, and nodes, from files or flags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from commandline.errors import UsageError
from resourceapi.manifests import labels_of, name_of


class Namespaces(dict[str, dict[str, str]]):
    """Labels by namespace; ``everywhere`` are those that flags give to all, also to namespaces that are in no file."""

    def __init__(self) -> None:
        super().__init__()
        self.everywhere: dict[str, str] = {}

    def get(self, name: str, default: Any = None) -> dict[str, str]:
        """The labels of a namespace; empty for an unknown one."""
        labels = super().get(name, {})
        return {**labels, **self.everywhere} if self.everywhere else labels


class ClusterContext:
    """The namespaces and nodes of files, and the namespaces' labels of flags."""

    def __init__(self, namespace_labels: Iterable[str] = ()) -> None:
        """Parse the flag.

        :param namespace_labels: its values, ``k=v,…`` for all namespaces or ``NAMESPACE:k=v,…`` for one.
        :raises UsageError: if one is neither.
        """
        self.namespaces = Namespaces()
        self.nodes: list[dict[str, Any]] = []
        self._given: list[tuple[str, dict[str, str]]] = [parse_labels(text) for text in namespace_labels]

    def learn(self, value: dict[str, Any]) -> None:
        """Note a Namespace or a Node."""
        name = name_of(value)
        if not name:
            return
        if value.get("kind") == "Node":
            self.nodes.append(value)
        else:
            self.namespaces[name] = labels_of(value)

    def learnt(self) -> tuple[dict[str, dict[str, str]], list[dict[str, Any]]]:
        """Labels by namespace, and nodes, of the files alone."""
        return dict(self.namespaces), self.nodes

    def add(self, learnt: tuple[dict[str, dict[str, str]], list[dict[str, Any]]]) -> None:
        """Add what another process has found in a later part of the input."""
        namespaces, nodes = learnt
        self.namespaces.update(namespaces)
        self.nodes += nodes

    def finish(self) -> None:
        """Let the flags' labels override those of files."""
        for namespace, labels in self._given:
            if namespace:
                self.namespaces.setdefault(namespace, {}).update(labels)
            else:
                self.namespaces.everywhere.update(labels)


def parse_labels(text: str) -> tuple[str, dict[str, str]]:
    """A value of ``--namespace-labels`` as namespace (empty: all) and labels.

    :raises UsageError: if it is neither ``k=v,…`` nor ``NAMESPACE:k=v,…``.
    """
    namespace, colon, labels = text.partition(":")
    if not colon:
        namespace, labels = "", text
    return namespace, dict(_pairs(labels, text))


def _pairs(text: str, whole: str) -> Iterator[tuple[str, str]]:
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--namespace-labels {whole}: expected [NAMESPACE:]KEY=VALUE[,…]")
        yield key.strip(), value.strip()
