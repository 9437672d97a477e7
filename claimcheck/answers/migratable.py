"""Whether `claimcheck migrate` rewrites an object of classic DRA."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from documents.document import Document

if TYPE_CHECKING:
    from classic.migration.mapping import Mappings


def can_migrate(found: Any) -> bool:
    """Whether an object can migrate, if what it refers to is among the files.

    :param found: a manifest; of one that is in no file nothing is known, so that it can.
    """
    if not isinstance(found, Document):
        return True
    from classic.migration.migration import Migration
    from classic.migration.remarks import ERROR

    migration = Migration([found], _mappings(), "default")
    return not any(remark.severity == ERROR and not remark.of_others for remark in migration.remarks)


@cache
def _mappings() -> Mappings:
    from classic.migration.mapping import built_in

    return built_in()
