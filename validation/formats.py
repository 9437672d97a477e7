"""Formats in the wording of hand-written validation."""

from __future__ import annotations

from functools import partial

from resourceapi import names

dns_label = partial(names.short_name, wording=names.HANDWRITTEN)
dns_subdomain = partial(names.long_name, wording=names.HANDWRITTEN)
pool_name = partial(names.resource_pool_name, wording=names.HANDWRITTEN)
qualified_name = partial(names.qualified_name, wording=names.HANDWRITTEN)

NOT_NEGATIVE = "must be greater than or equal to 0"
AT_LEAST_ZERO = "must be greater than or equal to zero"
