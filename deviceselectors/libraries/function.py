"""What a library says about a function, in one row: `Function`, with an `Overload` for each signature.

The checker takes the signatures, the estimate of cost what the API server takes a call for, the runtime how a call is
computed and what it costs, and the bound of cost how much that can be.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from deviceselectors.declarations import (
    CIDR_TYPE,
    FORMAT_TYPE,
    IP_TYPE,
    NAMED_TYPES,
    QUANTITY_TYPE,
    SEMVER_TYPE,
    URL_TYPE,
)
from deviceselectors.environment import Environment
from deviceselectors.libraries.max_sizes import MaxSize
from deviceselectors.types import (
    DYN_TYPE,
    Type,
    list_of,
    map_of,
    optional_of,
    struct,
    type_of,
    type_parameter,
)
from resourceapi.measured import NEWEST

if TYPE_CHECKING:
    from deviceselectors.ast import Call
    from deviceselectors.issues import Issues
    from deviceselectors.libraries.estimates import Argument
    from deviceselectors.sizes import Size


# Types as the libraries' signatures write them: `list(string); int > optional(Quantity)`.

_TYPES = {
    **NAMED_TYPES,
    "dyn": DYN_TYPE,
    "Quantity": QUANTITY_TYPE,
    "Semver": SEMVER_TYPE,
    "URL": URL_TYPE,
    "NamedFormat": FORMAT_TYPE,
    "IP": IP_TYPE,
    "CIDR": CIDR_TYPE,
}
_CONSTRUCTORS = {
    "list": lambda p: list_of(p[0]),
    "map": lambda p: map_of(p[0], p[1]),
    "optional": lambda p: optional_of(p[0]),
    "type": lambda p: type_of(p[0]),
}


def read_types(text: str) -> tuple[tuple[Type, ...], Type, tuple[str, ...]]:
    """The types of the arguments and of the result, and the names of the type parameters, the result's first."""
    arguments, _, result = text.rpartition(" > ")
    types = () if arguments == "-" else tuple([_read_type(a) for a in arguments.split("; ")])
    gives = _read_type(result)
    return types, gives, tuple(_parameter_names((gives, *types)))


def _parameter_names(types: tuple[Type, ...]) -> dict[str, None]:
    names: dict[str, None] = {}
    for t in types:
        if t.has_parameters:
            names |= _parameter_names(t.parameters) if t.parameters else {t.name: None}
    return names


@cache
def _read_type(text: str) -> Type:
    if text in _TYPES:
        return _TYPES[text]
    if text.endswith(")"):
        name, _, inside = text[:-1].partition("(")
        return _CONSTRUCTORS[name]([_read_type(p) for p in _split_parameters(inside)])
    if len(text) == 1:
        return type_parameter(text)
    return struct("kubernetes.authorization." + text)


def _split_parameters(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 2
    return [*parts, text[start:]]


Run = Callable[..., Any]
"""Computes a call: from the arguments, a target in front of them. Raises CelError and CelPanic."""
Cost = int | Callable[..., int]
"""What a call costs: a number, or a function of the arguments, which may be errors."""
Estimate = Callable[["list[Argument]"], "tuple[int, Size | None]"]
"""What the server takes a call for: its cost without its arguments, and the result's size if that is estimated."""
Bound = Callable[[list[MaxSize], MaxSize], float]
"""The greatest cost of a call, by the greatest sizes of its arguments and of its result."""
ResultSize = Callable[[list[MaxSize]], MaxSize]
"""The greatest size of a call's result, by those of its arguments."""

#: How the actual types of arguments are checked before an overload's `run`: by its signature; only that they are two
#: strings, whose error names no signature; only their number.
BY_SIGNATURE, TWO_STRINGS, BY_COUNT = "signature", "two strings", "count"


class Overload:
    """One signature of a function.

    What is omitted here is taken from the function. An overload's own cost counts where the checker has left no other.

    :param signature: its id, with a dot in front if it is called on a target; the types of the arguments, the target
        first, or ``-``; ``>``; the type of the result. A single capital letter is a type parameter:
        ``.string_char_at_int string; int > string``
    :param run: computes it, once the arguments' types have been checked
    :param estimate: what the server takes a call for; cost 1 without
    :param cost: what kube-scheduler counts for a call; 1 without
    :param paid_after: whether a call is paid when it is done, since it may make cel-go panic; others are before
    :param since: the first release (minor number) that has it; new expressions can use it one release later
    :param server: the first release whose server has it, also for new expressions
    :param until: the last release whose server has it
    """

    #: The types of the arguments, that of a target first, and of the result.
    arguments: tuple[Type, ...]
    result: Type
    #: The names of the type parameters, those of the result first. (The server takes them in random order, mostly this
    #: one; their numbers can show in an error message.)
    type_parameters: tuple[str, ...]

    def __init__(
        self,
        signature: str,
        run: Run | None = None,
        *,
        estimate: Estimate | None = None,
        cost: Cost | None = None,
        paid_after: bool | None = None,
        since: int | None = None,
        server: int | None = None,
        until: int = NEWEST,
    ) -> None:
        name, _, self._types = signature.partition(" ")
        self.id = name.lstrip(".")
        self.is_member = name[0] == "."
        self.run = run
        self.estimate = estimate
        self.cost = cost
        self.paid_after = paid_after
        self.since = since
        self.server = server
        self.until = until

    def is_in(self, release: int, server: int) -> bool:
        """Whether expressions that can use the libraries of one release (minor number) have it on a server of another."""
        return (self.since or 0) <= release and (self.server or 0) <= server <= self.until

    def shown(self, name: str) -> str:
        """How a function of that name is called: `string.charAt(int)`, and what it gives."""
        arguments, _, result = self._types.rpartition(" > ")
        types = [] if arguments == "-" else arguments.split("; ")
        target = f"{types.pop(0)}." if self.is_member else ""
        return f"{target}{name}({', '.join(types)}): {result}"

    def read(self) -> None:
        """Read the types of the signature; done with the first call of the function."""
        self.arguments, self.result, self.type_parameters = read_types(self._types)


class Function:
    """One function of a library.

    :param name: with its namespace if it has one: `charAt`, `sets.contains`
    :param overloads: in the order in which the checker tries them
    :param run: computes all overloads, and looks at the types of its arguments itself
    :param guard: how types are checked before an overload's own `run`
    :param stops_at_error: whether an error in an argument ends a call before the next argument is evaluated, though
        the function has few; so it is with all calls of more than two
    :param search: computes a call whose second argument, a regular expression, is a literal, from the compiled pattern
        in place of that expression: `search(pattern, text)`
    :param folds: whether the server computes calls on constants when it makes the program
    :param literal_check: finds what is wrong with literal arguments once the types have been checked
    :param literals_matter: whether literal arguments are looked at before any evaluation, even without `folds`, `search` or `literal_check`
    :param estimate: what the server takes a call for; cost 1 without
    :param cost: what kube-scheduler counts for a call; 1 without
    :param paid_after: see `Overload`
    :param bound: the greatest cost; without, one that holds for functions that read two arguments a few times
    :param result_size: the greatest size of the result; without it is unknown unless the type says it
    :param needs_untyped_attributes: whether it is declared only where attributes may be lists
    :param since: see `Overload`; without, the release that has its library
    :param server: see `Overload`
    :param last_if_stored: whether expressions that are stored already find other libraries' overloads first, as the
        server adds this library last for them
    """

    def __init__(
        self,
        name: str,
        *overloads: Overload,
        run: Run | None = None,
        guard: str = BY_SIGNATURE,
        stops_at_error: bool = False,
        search: Run | None = None,
        folds: bool = False,
        literal_check: Callable[[Call, Issues], None] | None = None,
        literals_matter: bool = False,
        estimate: Estimate | None = None,
        cost: Cost | None = None,
        paid_after: bool = False,
        bound: Bound | None = None,
        result_size: ResultSize | None = None,
        needs_untyped_attributes: bool = False,
        last_if_stored: bool = False,
        since: int | None = None,
        server: int | None = None,
    ) -> None:
        self.name = name
        self.overloads = overloads
        self.run = run
        self.guard = guard
        self.stops_at_error = stops_at_error
        self.search = search
        self.folds = folds
        self.literal_check = literal_check
        self.literals_matter = literals_matter or folds or search is not None or literal_check is not None
        self.cost = cost
        self.paid_after = paid_after
        self.bound = bound
        self.result_size = result_size
        self.needs_untyped_attributes = needs_untyped_attributes
        self.last_if_stored = last_if_stored
        #: what computes a call, by the only overload that is left, or by those of earlier releases that are; see `calls.resolve`
        self.resolved: dict[str | tuple[str, ...], Run] = {}
        self._by_id = {overload.id: overload for overload in overloads}
        #: how many overloads are of the first library that has it
        self._own = len(overloads)
        self._is_read = False
        for overload in overloads:
            if overload.estimate is None:
                overload.estimate = estimate
            if overload.cost is None:
                overload.cost = cost
            if overload.paid_after is None:
                overload.paid_after = paid_after
            if overload.server is None:
                overload.server = server
        self.introduce(since)

    def introduce(self, since: int | None) -> None:
        """Say since which release overloads are there that do not say it themselves."""
        for overload in self.overloads:
            if overload.since is None:
                overload.since = since
        self._all_since = max(overload.since or 0 for overload in self.overloads)
        self._all_with_server = max(overload.server or 0 for overload in self.overloads)
        self._all_until = min(overload.until for overload in self.overloads)

    def joined(self, other: Function) -> Function:
        """The function with the overloads that another library has of it.

        What belongs to the whole function is taken from the first library that sets it.
        """
        joined = Function(
            self.name,
            *self.overloads,
            *other.overloads,
            bound=self.bound or other.bound,
            result_size=self.result_size or other.result_size,
            folds=self.folds or other.folds,
            literal_check=self.literal_check or other.literal_check,
        )
        joined.cost = other.cost if self.cost is None else self.cost
        joined.last_if_stored, joined._own = self.last_if_stored, len(self.overloads)
        return joined

    def read(self) -> Function:
        """The function itself, with the types of all signatures."""
        if not self._is_read:
            for overload in self.overloads:
                overload.read()
            self._is_read = True
        return self

    def declared(self, environment: Environment) -> tuple[Overload, ...] | None:
        """The overloads in the order in which the checker tries them, or None if it is not declared there."""
        if self.needs_untyped_attributes and not environment.has_untyped_attributes:
            return None
        release, server = environment.release, environment.server
        if release < self._all_since or not self._all_with_server <= server <= self._all_until:
            return tuple(o for o in self.overloads if o.is_in(release, server)) or None
        if self.last_if_stored and environment.kind == "stored":
            return (*self.overloads[self._own :], *self.overloads[: self._own])
        return self.overloads

    def overload(self, overload_id: str) -> Overload:
        """The overload of an id."""
        return self._by_id[overload_id]

    def call_cost(self, overloads: tuple[str, ...]) -> Cost:
        """What kube-scheduler counts for a call, by the ids of the overloads that the checker left."""
        cost = self._by_id[overloads[0]].cost if len(overloads) == 1 else self.cost
        return 1 if cost is None else cost

    def is_paid_after(self, overloads: tuple[str, ...]) -> bool:
        """Whether a call is paid when it is done, by the ids of the overloads that the checker left."""
        return bool(self._by_id[overloads[0]].paid_after if len(overloads) == 1 else self.paid_after)
