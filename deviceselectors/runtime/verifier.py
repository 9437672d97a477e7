"""Whether generated code does nothing but what the generator is meant to write: looked at before it is run.

The generator builds trees that contain no text of a user. Should it have a mistake nevertheless, the verifier stands
between it and the process: code is refused that names anything beyond the table of constants, reaches for an
attribute or uses an instruction which the generator has no use for, or holds a value of its own. It looks at code
objects only, and knows nothing of how they were made.

Source: the documentation of Python's `dis` module for 3.11, 3.12 and 3.13. What is not known here is refused.
"""

from __future__ import annotations

import opcode
import sys
from collections.abc import Collection
from types import CodeType
from typing import Any

#: What generated code takes from values: fields of devices, quantities, versions and optionals, and harmless methods.
ATTRIBUTES = frozenset(
    (
        "as_map",
        "attributes",
        "capacity",
        "cmp",
        "driver",
        "endswith",
        "fill",
        "get",
        "key",
        "mantissa",
        "multiple",
        "scale",
        "startswith",
        "value",
    )
)

#: Numbers of the generator's own are costs and limits.
MAX_NUMBER = 1 << 31

_OPTIMIZED, _NEW_LOCALS = 0x1, 0x2

#: The function that makes a list a tuple, among those of CALL_INTRINSIC_1.
_LIST_TO_TUPLE = 6

#: `+`, `//`, `*`, `-`, `/` and `+=`, by the number that Python gives them; the same in all releases known here.
_ARITHMETIC = frozenset((0, 2, 5, 10, 11, 13))

_LOCALS = ("LOAD_FAST", "STORE_FAST")
_COMMON = frozenset(
    (
        *_LOCALS,
        "LOAD_CONST",
        "LOAD_GLOBAL",
        "LOAD_ATTR",
        "CALL",
        "CALL_FUNCTION_EX",  # instead of CALL from 30 arguments on
        "PUSH_NULL",
        "BINARY_OP",
        "BINARY_SUBSCR",
        "COMPARE_OP",
        "IS_OP",
        "CONTAINS_OP",
        "UNARY_NOT",
        "UNARY_NEGATIVE",
        "BUILD_LIST",
        "BUILD_TUPLE",
        "LIST_APPEND",
        "LIST_EXTEND",
        "UNPACK_SEQUENCE",
        "GET_ITER",
        "FOR_ITER",
        "JUMP_FORWARD",
        "JUMP_BACKWARD",
        "JUMP_BACKWARD_NO_INTERRUPT",  # out of handlers
        "PUSH_EXC_INFO",
        "CHECK_EXC_MATCH",
        "POP_EXCEPT",
        "RAISE_VARARGS",
        "RERAISE",
        "RETURN_VALUE",
        "POP_TOP",
        "COPY",
        "SWAP",
        "NOP",
        "CACHE",
        "RESUME",
        "EXTENDED_ARG",
    )
)
_FROM_3_12 = frozenset(
    (
        "LOAD_FAST_CHECK",
        "RETURN_CONST",
        "END_FOR",
        "CALL_INTRINSIC_1",
        "POP_JUMP_IF_TRUE",
        "POP_JUMP_IF_FALSE",
        "POP_JUMP_IF_NONE",
        "POP_JUMP_IF_NOT_NONE",
    )
)
_INSTRUCTIONS: dict[tuple[int, int], frozenset[str]] = {
    (3, 11): _COMMON
    | {"LOAD_METHOD", "LIST_TO_TUPLE", "PRECALL", "JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP"}
    | {
        f"POP_JUMP_{direction}_IF_{test}"
        for direction in ("FORWARD", "BACKWARD")
        for test in ("TRUE", "FALSE", "NONE", "NOT_NONE")
    },
    (3, 12): _COMMON | _FROM_3_12,
    (3, 13): _COMMON
    | _FROM_3_12
    | {"TO_BOOL", "LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST"},
}


class UnsafeCodeError(Exception):
    """Generated code that must not be run; the text says what is in it, in words of ours only."""


class _Rules:
    """The instructions of one release of Python, by number."""

    def __init__(self, release: tuple[int, int]) -> None:
        names = _INSTRUCTIONS.get(release, frozenset())
        numbers = {name: number for name, number in opcode.opmap.items() if name in names}
        self.allowed = bytes(numbers.values())
        self.extended_arg = numbers.get("EXTENDED_ARG")
        self.load_global = numbers.get("LOAD_GLOBAL")
        #: loads of attributes, and how far the number of the name is shifted
        self.attributes = {
            numbers.get("LOAD_ATTR"): 0 if release == (3, 11) else 1,
            numbers.get("LOAD_METHOD"): 0,
        }
        self.binary_op = numbers.get("BINARY_OP")
        self.call_intrinsic = numbers.get("CALL_INTRINSIC_1")
        checked = {self.extended_arg, self.load_global, *self.attributes, self.binary_op, self.call_intrinsic}
        #: by number, whether the argument matters
        self.has_checks = bytes(number in checked for number in range(256))


_RULES = _Rules(sys.version_info[:2])


def as_shown(code: CodeType) -> CodeType:
    """The code as `co_code` shows it, which is what the verifier looks at: nothing hides in what it leaves out."""
    return code.replace(co_code=code.co_code)


def verify(code: CodeType, names: Collection[str]) -> None:
    """Refuse the code of a function unless all it can reach are its arguments and the globals called `names`.

    `code` comes from Python's own compiler, by way of `as_shown`: that jumps lead to instructions, and that numbers of
    locals and constants are those of some, is taken from it.

    :raises UnsafeCodeError: with the first thing that is not allowed
    """
    _verify_frame(code)
    _verify_instructions(code, names)
    # whichever of its names an instruction takes, however it is reached
    if not all(name in names or name in ATTRIBUTES for name in code.co_names):
        raise UnsafeCodeError("a name that is neither in the table nor of an attribute in use")
    for constant in code.co_consts:
        if not _is_plain(constant):
            raise UnsafeCodeError(f"a constant of type {type(constant).__name__}")


def _verify_frame(code: CodeType) -> None:
    """What kind of function it is: one without closures, generators, starred parameters and names of users."""
    if code.co_flags != _OPTIMIZED | _NEW_LOCALS:
        raise UnsafeCodeError(f"flags {code.co_flags:#x}")
    if code.co_freevars or code.co_cellvars:
        raise UnsafeCodeError("variables shared with another function")
    if code.co_kwonlyargcount or code.co_posonlyargcount:
        raise UnsafeCodeError("parameters by name or by position only")
    for local in code.co_varnames:
        if not _is_local(local):
            raise UnsafeCodeError("a local name of no known form")


def _is_local(name: str) -> bool:
    """Whether it is one of the names that generated code has: `d`, `c`, and `t1`, `a1`, `b1`, `v1` and so on."""
    number = name[1:]
    if not number:
        return name in ("d", "c")
    return name[0] in "tabv" and number[0] != "0" and number.isascii() and number.isdigit()


def _is_plain(constant: Any) -> bool:
    cls = constant.__class__
    if cls is tuple:
        return all(each.__class__ is not tuple and _is_plain(each) for each in constant)
    return constant is None or cls is bool or (cls is int and 0 <= constant < MAX_NUMBER)


def _verify_instructions(code: CodeType, names: Collection[str]) -> None:
    rules, instructions = _RULES, code.co_code
    numbers, arguments = instructions[::2], instructions[1::2]
    unknown = numbers.translate(None, rules.allowed)
    if unknown:
        raise UnsafeCodeError(f"the instruction {opcode.opname[unknown[0]]}")
    has_checks, extended_arg, extension = rules.has_checks, rules.extended_arg, 0
    for number, argument in zip(numbers, arguments, strict=True):
        if not has_checks[number]:
            extension = 0
        elif number == extended_arg:
            extension = (extension | argument) << 8
        else:
            _verify_argument(code, number, extension | argument, names)
            extension = 0


def _verify_argument(code: CodeType, number: int, argument: int, names: Collection[str]) -> None:
    rules = _RULES
    if number == rules.load_global:
        if code.co_names[argument >> 1] not in names:
            raise UnsafeCodeError("a global name beyond the table")
    elif number in rules.attributes:
        if code.co_names[argument >> rules.attributes[number]] not in ATTRIBUTES:
            raise UnsafeCodeError("an attribute that generated code has no use for")
    elif number == rules.binary_op:
        if argument not in _ARITHMETIC:
            raise UnsafeCodeError("an operator that generated code has no use for")
    elif argument != _LIST_TO_TUPLE:
        raise UnsafeCodeError("an intrinsic function that generated code has no use for")
