"""Every option of the services' configurations is explained to users."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scheduler import config as scheduler_config
from webhook import config as webhook_config

ROOT = Path(__file__).parents[2]
HOW_TO = ROOT / "docs" / "how-to"
#: Of each service, the schema of its configuration and the pages that explain it.
SERVICES = [
    (webhook_config.schema_of_config(), [HOW_TO / name for name in ("webhook.md", "quota.md", "deploy.md")]),
    (scheduler_config.schema_of_config(), [HOW_TO / name for name in ("schedule.md", "webhook.md")]),
]


def _options(schema: dict[str, Any], parent: str = "") -> Iterator[str]:
    for name, option in schema.get("properties", {}).items():
        yield f"{parent}{name}"
        yield from _options(option, f"{parent}{name}.")


@pytest.mark.parametrize(
    ("option", "guides"),
    [(option, guides) for schema, guides in SERVICES for option in _options(schema)],
)
def test_option_is_in_a_guide(option: str, guides: list[Path]) -> None:
    """By its name, in one of them."""
    name = option.rpartition(".")[2]
    assert any(name in page.read_text("utf-8") for page in guides)
