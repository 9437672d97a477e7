"""What an answer depends on besides the object: labels of namespaces, and nodes, from files or as given; `--namespace`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from claimcheck.answers.handling import CONTEXT
from claimcheck.answers.outcome import Failure
from resourceapi.kinds import KINDS, kind_of
from resourceapi.manifests import labels_of, mapping, name_of, text

if TYPE_CHECKING:
    from advice.findings import Result
    from advice.lints.facts import Facts
    from documents.manifest import Manifest
    from resourceapi.records.nodes import Node
    from resourceapi.releases import Profile
    from validation.server import Server


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
        self.nodes: list[Node] = []
        self._given = list(given)

    def learn(self, value: dict[str, Any]) -> None:
        """Note a Namespace or a Node."""
        if value.get("kind") == "Node":
            from resourceapi.records.nodes import read_node

            node = read_node(value)
            self.nodes += [] if node is None else [node]
        elif name := name_of(value):
            self.namespaces[name] = labels_of(value)

    def learnt(self) -> tuple[dict[str, dict[str, str]], list[Node]]:
        """Labels by namespace, and nodes, of the files alone."""
        return dict(self.namespaces), self.nodes

    def add(self, learnt: tuple[dict[str, dict[str, str]], list[Node]]) -> None:
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


class Knowledge:
    """What manifests say about each other: namespaces and nodes, and the facts for lints unless these are off."""

    def __init__(self, context: ClusterContext, facts: Facts | None) -> None:
        self.context = context
        self.facts = facts

    def forgo(self, unread: Mapping[str, Collection[str]]) -> None:
        """Take nothing for missing of kinds of which objects could not be read, but in the namespaces where all were."""
        if self.facts is not None:
            self.facts.complete = self.facts.complete.difference(unread)
            self.facts.complete_in = {kind: set(namespaces) for kind, namespaces in unread.items()}

    def learn(self, manifest: Manifest, how: str) -> None:
        """Learn what a manifest says about others; ``how`` is how it is handled."""
        if how == CONTEXT:
            self.context.learn(manifest.value)
        elif self.facts is not None:
            self.facts.learn(manifest.value, manifest.file)

    def learnt(self) -> Any:
        """Everything learnt so far, as plain data for another process."""
        return self.context.learnt(), None if self.facts is None else self.facts.learnt()

    def add(self, learnt: Any) -> None:
        """Add what another process has learnt from manifests that come later."""
        context, facts = learnt
        self.context.add(context)
        if self.facts is not None:
            self.facts.add(facts)

    def server(self, profile: Profile) -> Server:
        """The server that answers about them; to be asked for after all of them have been read."""
        from validation.server import Server

        self.context.finish()
        return Server(profile, namespaces=self.context.namespaces, nodes=self.context.nodes)


# ``--namespace`` as kubectl has it: objects of files that name another one are refused.


def namespace_mismatch(of_object: str, of_option: str) -> str:
    """What kubectl says of an object that names another namespace than the option."""
    return (
        f'the namespace from the provided object "{of_object}" does not match the namespace "{of_option}". '
        f"You must pass '--namespace={of_object}' to perform this operation."
    )


def in_namespace(
    found: Iterable[Manifest | Result | Failure], of_option: str
) -> Iterator[Manifest | Result | Failure]:
    """What files contain; an object that names another namespace than the option becomes a failure.

    :param of_option: empty if the option is not given.
    """
    for each in found:
        value = getattr(each, "value", None)
        named = text(mapping(value, "metadata"), "namespace") if of_option and isinstance(value, dict) else ""
        if named and named != of_option and _may_be_namespaced(each):
            yield Failure(
                each.file, f"line {getattr(each, 'line', 0)}: {namespace_mismatch(named, of_option)}"
            )
        else:
            yield each


def _may_be_namespaced(manifest: object) -> bool:
    value = getattr(manifest, "value", {})
    kind = kind_of(value.get("apiVersion"), value.get("kind")) or KINDS.get(str(value.get("kind")))
    return kind is None or kind.namespaced
