"""Another namespace than that of the kustomizations."""

from __future__ import annotations

from typing import Any

from commandline.manifests.options import NAMESPACE


def renamed(value: Any, namespace: str) -> Any:
    """A value with another namespace in references, selectors and names of certificates."""
    if isinstance(value, str):
        return value.replace(NAMESPACE, namespace)
    if isinstance(value, list):
        return [renamed(item, namespace) for item in value]
    if isinstance(value, dict):
        return {key: renamed(item, namespace) for key, item in value.items()}
    return value
