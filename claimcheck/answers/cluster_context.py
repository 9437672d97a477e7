"""What an answer depends on besides the object: labels of namespaces, and nodes, from files or as given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from resourceapi.manifests import labels_of, name_of


class Namespaces(dict[str, dict[str, str]]):
    """Labels by namespace; ``everywhere`` are those that are given to all, also to namespaces that are in no file."""

    def __init__(self) -> None:
        super().__init__()
        self.everywhere: dict[str, str] = {}

    def get(self, name: str, default: Any = None) -> dict[str, str]:
        """The labels of a namespace; empty for an unknown one."""
        labels = super().get(name, {})
        return {**labels, **self.everywhere} if self.everywhere else labels


class ClusterContext:
    """The namespaces and nodes of files, and labels of namespaces that are given."""

    def __init__(self, given: Iterable[tuple[str, dict[str, str]]] = ()) -> None:
        """Know nothing but what is given.

        :param given: labels of a namespace, or of all of them if it is empty; they override those of files.
        """
        self.namespaces = Namespaces()
        self.nodes: list[dict[str, Any]] = []
        self._given = list(given)

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
        """Let the labels that are given override those of files."""
        for namespace, labels in self._given:
            if namespace:
                self.namespaces.setdefault(namespace, {}).update(labels)
            else:
                self.namespaces.everywhere.update(labels)
