"""``--namespace-labels``: labels that are not in the manifests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from claimcheck.answers.cluster_context import ClusterContext
from commandline.errors import UsageError


def context_of(namespace_labels: Iterable[str]) -> ClusterContext:
    """The context of a run, with the labels of the option.

    :param namespace_labels: its values, ``k=v,…`` for all namespaces or ``NAMESPACE:k=v,…`` for one.
    :raises UsageError: if one is neither.
    """
    return ClusterContext(parse_labels(text) for text in namespace_labels)


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
