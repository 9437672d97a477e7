"""Writes manifests/crds from the API model: `python -m docs.tools.crds`."""

from __future__ import annotations

from pathlib import Path

import yaml

from webhook.crds import definitions

DIRECTORY = Path(__file__).parents[2] / "manifests" / "crds"
SERVICE, NAMESPACE = "claimcheck", "claimcheck-system"
HEADER = "# Made by `make docs` from resourceapi/: do not edit.\n"


def files() -> dict[Path, str]:
    """What the files hold."""
    return {
        DIRECTORY / f"{document['spec']['names']['plural']}.yaml": HEADER
        + yaml.safe_dump(document, sort_keys=False, width=110)
        for document in definitions(service=SERVICE, namespace=NAMESPACE)
    }


def main() -> None:
    """Write the definitions into ``manifests/crds``."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
