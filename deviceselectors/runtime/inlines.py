"""Parts of the fast variant that are Python expressions: `Inline`, and how libraries make more of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deviceselectors.runtime import trees
from deviceselectors.runtime.trees import Tree
from deviceselectors.runtime.values import MISSING
from deviceselectors.runtime.writer import Writer

Use = Callable[[Tree], Tree]
"""A tree made from another one."""


class Inline:
    """A Python expression.

    :param cls: the class of its value, if that is certain
    :param raises: whether it may raise a `CelError`
    :param depth: how deep it is nested
    :param constant: the value itself, if it is known
    """

    __slots__ = ("cls", "constant", "depth", "lookup", "raises", "tree")

    def __init__(
        self,
        tree: Tree,
        cls: type | None,
        *,
        raises: bool = False,
        depth: int = 0,
        constant: Any = MISSING,
    ) -> None:
        self.tree = tree
        self.cls = cls
        self.raises = raises
        self.depth = depth
        self.constant = constant
        #: the part of the tree, a look-up by key, that comes first of all that may raise
        self.lookup: Lookup | None = None


class Lookup:
    """`mapping[key]` in an expression."""

    __slots__ = ("key", "mapping", "tree")

    def __init__(self, mapping: Tree, key: Inline) -> None:
        self.mapping = mapping
        self.key = key
        self.tree = trees.item(mapping, key.tree)


def combined(tree: Tree, cls: type | None, parts: list[Inline], *, raises: bool = False) -> Inline:
    """An expression made of others.

    :param raises: whether it may raise a `CelError` even if its parts do not
    """
    return Inline(
        tree,
        cls,
        raises=raises or any(part.raises for part in parts),
        depth=1 + max([part.depth for part in parts], default=0),
    )


def by_class(code: Writer, value: Inline, cls: type, then: Use, otherwise: Use) -> Tree:
    """One use of the value if it is of a class, another if not."""
    if value.cls is cls:
        return then(value.tree)
    if trees.is_atom(value.tree):
        return trees.choose(code.is_class(value.tree, cls), then(value.tree), otherwise(value.tree))
    local = code.name("t")
    test = code.is_class(trees.named(local, value.tree), cls)
    return trees.choose(test, then(trees.name(local)), otherwise(trees.name(local)))
