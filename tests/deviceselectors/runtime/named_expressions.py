"""Random selectors of named resources (v1alpha2): those for devices, about attributes of named resources."""

from __future__ import annotations

import random
import re

from tests.deviceselectors.runtime.random_expressions import Expressions
from tests.deviceselectors.wrong_expressions import WrongExpressions

_MAPS = ("quantity", "bool", "int", "intslice", "string", "stringslice", "version", "float")
_LOOKUPS = re.compile(r'device\.(?:attributes|capacity)(?:\[\??"[^"]*"\])?')
#: What has errors with numbers of nodes in them (docs/known-differences.md).
_UNTOLD = ("optMap", "optFlatMap", "__result__")
_RESULTS = ("bool",) * 8 + ("int", "string", "list:string", "semver")


def random_selector(draw: random.Random) -> str:
    """An expression over the environment of named resources; many know something that 1.30 does not."""
    while True:
        expression = _random_selector(draw)
        if not any(name in expression for name in _UNTOLD):
            return expression


def _random_selector(draw: random.Random) -> str:
    how = draw.random()
    if how < 0.5:
        return about_named_resources(
            draw, Expressions(draw).expression(draw.choice(_RESULTS), draw.randint(0, 4))
        )
    wrong = WrongExpressions(draw)
    if how < 0.8:
        return about_named_resources(draw, wrong.ill_typed(draw.randint(1, 4)))
    if how < 0.9:
        return wrong.tokens()
    return about_named_resources(draw, wrong.broken(wrong.ill_typed(3)))


def about_named_resources(draw: random.Random, expression: str) -> str:
    """An expression about a device, with attributes of named resources in place of what it looks up in that."""
    expression = _LOOKUPS.sub(lambda _: f"attributes.{draw.choice(_MAPS)}", expression)
    expression = expression.replace("device.driver", 'attributes.string["model"]')
    return expression.replace("device.allowMultipleAllocations", 'attributes.bool["ok"]')
