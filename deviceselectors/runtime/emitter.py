"""Lines of Python source, temporaries, constants and nested functions: what code generation needs whatever it generates."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from deviceselectors.runtime.values import CelError

#: Blocks nested deeper are put into a function of their own: Python allows 100 levels and 20 loops.
MAX_INDENT = 12

_PLAIN_CONSTANTS = frozenset((str, bool, type(None)))
_LARGEST_DIGITS = 1 << 128


class Value:
    """An operand: a Python expression without side effects that cannot raise.

    `fails` tells whether it may be a `CelError`, `cls` the Python class of what else it can be, if that is certain.
    """

    __slots__ = ("cls", "fails", "text")

    def __init__(self, text: str, fails: bool = False, cls: type | None = None) -> None:
        self.text = text
        self.fails = fails
        self.cls = cls


class Emitter:
    """Functions being written. `constants` are the globals of the code."""

    def __init__(self) -> None:
        self.constants: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._functions: list[str] = []
        self._count = 0
        self.lines: list[str] = []
        self.indent = 1

    def source(self) -> str:
        return "\n".join(self._functions)

    def name(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def emit(self, line: str) -> None:
        self.lines.append(" " * self.indent + line)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.emit(head)
        self.indent += 1
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.emit("pass")
        self.indent -= 1

    def constant(self, value: Any) -> Value:
        """A constant as literal or global name."""
        cls = value.__class__
        if cls in _PLAIN_CONSTANTS:
            return Value(repr(value), cls=cls)
        if cls is int and -_LARGEST_DIGITS < value < _LARGEST_DIGITS:
            return Value(str(value) if value >= 0 else f"({value})", cls=cls)
        if cls is CelError:
            # a new one each time: raising adds to an exception's traceback
            return Value(f"{self.refer(CelError)}({value.message!r})", True, cls)
        return Value(self.refer(value), cls=cls)

    def refer(self, value: Any) -> str:
        """The global name of a value."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = self.name("K")
            self.constants[name] = value
        return name

    def temporary(self, text: str) -> str:
        name = self.name("t")
        self.emit(f"{name} = {text}")
        return name

    def atom(self, value: Value) -> Value:
        """The value under a name or as a literal, for use in several places."""
        if value.text.isidentifier() or value.text[0] in "'\"0123456789":
            return value
        return Value(self.temporary(value.text), value.fails, value.cls)

    def local(self, value: Value) -> Value:
        """The value under a name, for tests that make no sense on literals."""
        if value.text.isidentifier():
            return value
        return Value(self.temporary(value.text), value.fails, value.cls)

    def define(self, name: str, parameters: str, lines: list[str]) -> None:
        body = "\n".join(lines)
        self._functions.append(f"def {name}({parameters}):\n{body}\n")

    @contextmanager
    def function_body(self) -> Iterator[list[str]]:
        """Lines go into a new function body for a while."""
        lines, indent = self.lines, self.indent
        self.lines, self.indent = [], 1
        yield self.lines
        self.lines, self.indent = lines, indent
