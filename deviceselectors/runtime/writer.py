"""Functions being written, as trees: statements, temporaries, the table of constants, and the way into bytecode.

Generated names are `d` the device, `c` the cost so far, `t1` ... temporaries, `a1` ... accumulators, `v1` ... variables of
loops, `b1` ... cells, `f1` ... functions, and `K1` ... for the table's entries: all that an expression's author
wrote, and every function and class that the code uses. The table is all that generated code can reach.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import CodeType, FunctionType
from typing import Any

from deviceselectors.runtime import trees
from deviceselectors.runtime.trees import Statement, Tree
from deviceselectors.runtime.values import CelError
from deviceselectors.runtime.verifier import as_shown, verify

#: Blocks nested deeper are put into a function of their own: Python allows 20 loops and handlers within each other.
MAX_NESTING = 12

PROGRAM = "program"


class Value:
    """An operand: an expression without side effects that cannot raise.

    `fails` tells whether it may be a `CelError`, `cls` the Python class of what else it can be, if that is certain.
    """

    __slots__ = ("cls", "fails", "tree")

    def __init__(self, tree: Tree, fails: bool = False, cls: type | None = None) -> None:
        self.tree = tree
        self.fails = fails
        self.cls = cls


def caught() -> CelError:
    """The error being handled, without its traceback, which would keep the function's locals alive."""
    error: CelError = sys.exception()  # type: ignore[assignment]
    return error.with_traceback(None)


class Writer:
    """What code generation needs whatever it generates. `table` are the globals of the code."""

    def __init__(self) -> None:
        self.table: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._functions: list[Statement] = []
        self._count = 0
        self._body: list[Statement] = []
        self.nesting = 0

    # ------------------------------------------------------------ names and values

    def name(self, prefix: str) -> str:
        """A new name."""
        self._count += 1
        return f"{prefix}{self._count}"

    def refer(self, value: Any) -> Tree:
        """The name of a value in the table."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = self.name("K")
            self.table[name] = value
        return trees.name(name)

    def constant(self, value: Any) -> Value:
        """A known value."""
        if value is None or value is True or value is False:
            return Value(_LITERALS[value], cls=value.__class__)
        if value.__class__ is CelError:
            # a new one each time: raising adds to an exception's traceback
            return Value(self.error(value.message), True, CelError)
        return Value(self.refer(value), cls=value.__class__)

    def error(self, message: str) -> Tree:
        """A new `CelError`."""
        return trees.call(self.refer(CelError), self.refer(message))

    def is_class(self, value: Tree, cls: type) -> Tree:
        """`type(value) is cls`."""
        return trees.compare(trees.call(self.refer(type), value), "is", self.refer(cls))

    def is_no_class(self, value: Tree, cls: type) -> Tree:
        """`type(value) is not cls`."""
        return trees.compare(trees.call(self.refer(type), value), "is not", self.refer(cls))

    def is_error(self, value: Tree) -> Tree:
        """`type(value) is CelError`."""
        return self.is_class(value, CelError)

    def is_no_error(self, value: Tree) -> Tree:
        """`type(value) is not CelError`."""
        return self.is_no_class(value, CelError)

    def temporary(self, tree: Tree) -> Tree:
        """A new local with the value."""
        name = self.name("t")
        self.emit(trees.assign(name, tree))
        return trees.name(name)

    def atom(self, value: Value) -> Value:
        """The value under a name or as a literal, for use in several places."""
        if trees.is_atom(value.tree):
            return value
        return Value(self.temporary(value.tree), value.fails, value.cls)

    # ------------------------------------------------------------ statements

    def emit(self, statement: Statement) -> None:
        """Add a statement to the body being written."""
        self._body.append(statement)

    @contextmanager
    def _block(self, body: list[Statement]) -> Iterator[None]:
        """Statements go into this body for a while."""
        outer, self._body = self._body, body
        self.nesting += 1
        yield
        if not body:
            body.append(trees.NOTHING)
        self._body = outer
        self.nesting -= 1

    @contextmanager
    def when(self, test: Tree) -> Iterator[list[Statement]]:
        """`if test:`; gives what `otherwise` takes."""
        then: list[Statement] = []
        otherwise: list[Statement] = []
        self.emit(trees.when(test, then, otherwise))
        with self._block(then):
            yield otherwise

    def otherwise(self, body: list[Statement]) -> AbstractContextManager[None]:
        """`else:` of a `when`."""
        return self._block(body)

    @contextmanager
    def loop(self, variables: list[str], elements: Tree) -> Iterator[None]:
        """`for variables in elements:`."""
        body: list[Statement] = []
        self.emit(trees.loop(variables, elements, body))
        with self._block(body):
            yield

    @contextmanager
    def attempt(self, exception: type, handler: list[Statement]) -> Iterator[None]:
        """`try:`, with a handler for one class of exceptions."""
        body: list[Statement] = []
        self.emit(trees.attempt(body, self.refer(exception), handler))
        with self._block(body):
            yield

    def assign(self, target: str, tree: Tree) -> None:
        """`target = tree`."""
        self.emit(trees.assign(target, tree))

    def assign_guarded(self, target: str, tree: Tree) -> None:
        """The result of something that may raise, or the error."""
        with self.attempt(CelError, [trees.assign(target, trees.call(self.refer(caught)))]):
            self.assign(target, tree)

    def assign_when(self, test: Tree, target: str, tree: Tree) -> None:
        """`target = tree` if the test holds."""
        self.emit(trees.when(test, [trees.assign(target, tree)], []))

    def guard(self, tree: Tree, *, fails: bool = True) -> Value:
        """A temporary with the result of something that may raise."""
        result = self.name("t")
        self.assign_guarded(result, tree)
        return Value(trees.name(result), fails)

    @contextmanager
    def function(self, name: str, parameters: list[str]) -> Iterator[None]:
        """Statements go into a new function for a while."""
        outer, nesting = self._body, self.nesting
        self._body, self.nesting = [], 0
        yield
        self._functions.append(trees.define(name, parameters, self._body))
        self._body, self.nesting = outer, nesting

    # ------------------------------------------------------------ bytecode

    def assemble(self) -> Any:
        """The function called `program`.

        The code of the module around the functions is never run: it would only define them.

        :raises UnsafeCodeError: if any function is not as the verifier wants it
        """
        code = compile(trees.module(self._functions), "<cel>", "exec", dont_inherit=True)
        functions = [as_shown(each) for each in code.co_consts if isinstance(each, CodeType)]
        names = self.table.keys() | {each.co_name for each in functions}
        reachable: dict[str, Any] = {**self.table, "__builtins__": {}}
        for each in functions:
            verify(each, names)
            reachable[each.co_name] = FunctionType(each, reachable)
        return reachable[PROGRAM]


_LITERALS: dict[bool | None, Tree] = {None: trees.NULL, True: trees.TRUE, False: trees.FALSE}
