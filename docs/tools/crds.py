"""Writes manifests/crds, and the CRDs of our own group, from the API model: `python -m docs.tools.crds`."""

from __future__ import annotations

from pathlib import Path

import yaml

from resourceapi.objects import Object
from webhook.crds import definitions, own_definitions

MANIFESTS = Path(__file__).parents[2] / "manifests"
DIRECTORY = MANIFESTS / "crds"
OWN_DIRECTORY = MANIFESTS / "device-patches"
SERVICE, NAMESPACE = "claimcheck", "claimcheck-system"
HEADER = "# Made by `make docs` from resourceapi/: do not edit.\n"


def files() -> dict[Path, str]:
    """What the files hold."""
    found: dict[Path, str] = {}
    for directory, documents in (
        (DIRECTORY, definitions(service=SERVICE, namespace=NAMESPACE)),
        (OWN_DIRECTORY, own_definitions()),
    ):
        found |= {_file(directory, document): _text(document) for document in documents}
    return found


def _file(directory: Path, document: Object) -> Path:
    return directory / f"{document['spec']['names']['plural']}.yaml"


def _text(document: Object) -> str:
    return HEADER + yaml.safe_dump(document, sort_keys=False, width=110)


def main() -> None:
    """Write the definitions into their directories."""
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
