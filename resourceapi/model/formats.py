"""The formats of names that fields declare, with the origin under which the server reports them."""

from __future__ import annotations

from collections.abc import Callable

from resourceapi import names
from resourceapi.names import HANDWRITTEN, FormatError
from resourceapi.rules import BETA, STANDARD, Format


def _worded(name: str, rule: Callable[..., list[FormatError]], *, stage: str = BETA) -> Format:
    return Format(name, rule, lambda text: rule(text, HANDWRITTEN), stage=stage)


def always(format_: Format) -> Format:
    """The same format where the declarative generation enforces it in every release that has the field."""
    return Format(format_.origin.removeprefix("format="), format_.problems, stage=STANDARD)


SHORT_NAME = _worded("k8s-short-name", names.short_name)
LONG_NAME = _worded("k8s-long-name", names.long_name)
LONG_NAME_CASELESS = Format("k8s-long-name-caseless", names.long_name_caseless)
LABEL_KEY = Format("k8s-label-key", names.label_key)
UUID = _worded("k8s-uuid", names.uuid)
POOL_NAME = _worded("k8s-resource-pool-name", names.resource_pool_name)
FULLY_QUALIFIED_NAME = _worded("k8s-resource-fully-qualified-name", names.fully_qualified_name)
EXTENDED_RESOURCE_NAME = _worded("k8s-extended-resource-name", names.extended_resource_name)
# of fields that are newer than the declarative generation
GROUP_NAME = always(SHORT_NAME)
FULLY_QUALIFIED_NAME_ALWAYS = always(FULLY_QUALIFIED_NAME)
