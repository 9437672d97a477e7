"""The one version of classic DRA whose answers are known.

No other version has its shape, so it is its own hub.
"""

from __future__ import annotations

from resourceapi.model import core, meta
from resourceapi.model.classic import (
    claims,
    classes,
    named_resources,
    parameters,
    references,
    scheduling,
    slices,
    structured,
)
from resourceapi.model.versions import CLASSIC_VERSION
from resourceapi.schema import Schema

V1ALPHA2 = Schema(
    CLASSIC_VERSION,
    (
        *meta.STRUCTS,
        *core.STRUCTS,
        *references.STRUCTS,
        *classes.STRUCTS,
        *claims.STRUCTS,
        *scheduling.STRUCTS,
        *structured.STRUCTS,
        *parameters.STRUCTS,
        *slices.STRUCTS,
        *named_resources.STRUCTS,
    ),
    names_embedded=False,
)
SCHEMAS = {CLASSIC_VERSION: V1ALPHA2}
