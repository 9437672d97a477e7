"""Every option of the service's configuration is explained to users."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from webhook.config import schema_of_config

ROOT = Path(__file__).parents[2]
SCHEMA = schema_of_config()
GUIDES = [ROOT / "docs" / "how-to" / name for name in ("webhook.md", "quota.md", "deploy.md")]


def _options(schema: dict[str, Any], parent: str = "") -> Iterator[str]:
    for name, option in schema.get("properties", {}).items():
        yield f"{parent}{name}"
        yield from _options(option, f"{parent}{name}.")


@pytest.mark.parametrize("option", list(_options(SCHEMA)))
def test_option_is_in_a_guide(option: str) -> None:
    """By its name, in the guide to the webhook, to quota or to deploying it."""
    name = option.rpartition(".")[2]
    assert any(name in page.read_text("utf-8") for page in GUIDES)
