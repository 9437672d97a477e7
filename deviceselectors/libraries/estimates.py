"""What the API server takes calls for: parts of its estimate that several libraries have in common.

An estimate gets the arguments of a call, a target in front, and gives the cost without theirs, with the size of the
result or None. Source: the cost estimates of cel-go 0.29 and of kube-apiserver 1.37 for its libraries.
"""

from __future__ import annotations

from collections.abc import Callable

from deviceselectors.ast import Literal, Node, type_of_node
from deviceselectors.sizes import TRAVERSAL, UNKNOWN, UNLIMITED, Path, Size, add, multiply, scale
from deviceselectors.types import BYTES, INT, STRING, Type

#: What a list literal costs, and a function that makes a list.
LIST_COST = 10
_REGEX = 0.25

_Estimated = tuple[int, Size | None]


class Argument:
    """A target or argument of a call.

    :param size: as far as it has been estimated
    """

    __slots__ = ("_path_of", "is_sized", "node", "size")

    def __init__(self, node: Node, size: Size | None, path_of: Callable[[Node], Path]) -> None:
        self.node = node
        #: whether a size has been computed, be it without a bound
        self.is_sized = size is not None
        self.size = UNKNOWN if size is None else size
        self._path_of = path_of

    @property
    def type(self) -> Type:
        """Its static type."""
        return type_of_node(self.node)

    @property
    def path(self) -> Path:
        """Where it is in a variable."""
        return self._path_of(self.node)

    def number(self) -> int | None:
        """The value of a literal int, which the server reads as it stands."""
        node = self.node
        if isinstance(node, Literal) and node.literal_type.kind == INT and isinstance(node.value, int):
            return node.value
        return None


def reads(position: int, factor: float = TRAVERSAL) -> Callable[[list[Argument]], _Estimated]:
    """Looks at each character or element of one argument."""
    return lambda arguments: (scale(arguments[position].size[1], factor), None)


def transforms(arguments: list[Argument]) -> _Estimated:
    """Reads the first argument; the result is as long."""
    return scale(arguments[0].size[1], TRAVERSAL), arguments[0].size


def compares(arguments: list[Argument]) -> _Estimated:
    """Reads two arguments as far as the shorter one goes."""
    return scale(min(arguments[0].size[1], arguments[1].size[1]), TRAVERSAL), None


def searches(arguments: list[Argument]) -> _Estimated:
    """Runs a regular expression, the second argument, over the first."""
    text, regex = arguments[0].size[1], arguments[1].size[1]
    return multiply(scale(add(text, 1), TRAVERSAL), scale(regex, _REGEX)), None


def element_of(argument: Argument) -> tuple[Type, Size] | None:
    """Type and size of the elements of a list, or None for what has no type parameter."""
    parameters = argument.type.parameters
    if not parameters:
        return None
    declared = argument.path.declared()
    element = None if declared is None else declared.element
    return parameters[0], UNKNOWN if element is None else element.size


def reads_elements(arguments: list[Argument]) -> _Estimated:
    """Looks at all elements of the first argument, be it a list or a string."""
    target = arguments[0]
    element = element_of(target)
    if element is None:
        return scale(target.size[1], TRAVERSAL), None
    per_element = 1
    if element[0].kind in (STRING, BYTES):
        per_element = add(1, scale(element[1][1], TRAVERSAL))
    return multiply(target.size[1], per_element), None


def makes_list(factor: float, size: Size) -> _Estimated:
    """Makes a list, with an effort for each element."""
    return add(scale(size[1], factor), 1 + LIST_COST), size


def wrapped(number: int) -> int:
    """The number in 64 bits, as Go's overflows leave it."""
    return number & UNLIMITED
