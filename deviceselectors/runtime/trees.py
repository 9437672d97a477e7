"""Python syntax trees in the few shapes that generated code is made of: `call(f, x)` is `f(x)`, `named(t, x)` `(t := x)`.

There is no text on the way to bytecode. What an expression's author wrote is nowhere in a tree: names are made here and
in `writer`, and values stand in the table of constants, under a name. A tree may stand in several places of another, as
compilation copies it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from typing import Any, TypeVar

Tree = ast.expr
Statement = ast.stmt

_Node = TypeVar("_Node", bound=ast.AST)


def _placed(cls: type[_Node]) -> type[_Node]:
    """The class with the position that compilation asks every node for, once instead of in each node."""
    return type(cls.__name__, (cls,), {"lineno": 1, "col_offset": 0})


_Assign = _placed(ast.Assign)
_Attribute = _placed(ast.Attribute)
_AugAssign = _placed(ast.AugAssign)
_BinOp = _placed(ast.BinOp)
_BoolOp = _placed(ast.BoolOp)
_Break = _placed(ast.Break)
_Call = _placed(ast.Call)
_Compare = _placed(ast.Compare)
_Constant = _placed(ast.Constant)
_ExceptHandler = _placed(ast.ExceptHandler)
_Expr = _placed(ast.Expr)
_For = _placed(ast.For)
_FunctionDef = _placed(ast.FunctionDef)
_If = _placed(ast.If)
_IfExp = _placed(ast.IfExp)
_List = _placed(ast.List)
_Name = _placed(ast.Name)
_NamedExpr = _placed(ast.NamedExpr)
_Parameter = _placed(ast.arg)
_Pass = _placed(ast.Pass)
_Raise = _placed(ast.Raise)
_Return = _placed(ast.Return)
_Starred = _placed(ast.Starred)
_Subscript = _placed(ast.Subscript)
_Try = _placed(ast.Try)
_Tuple = _placed(ast.Tuple)
_UnaryOp = _placed(ast.UnaryOp)

_LOAD, _STORE = ast.Load(), ast.Store()
_AND, _OR, _NOT, _MINUS = ast.And(), ast.Or(), ast.Not(), ast.USub()
_COMPARISONS: dict[str, ast.cmpop] = {
    "==": ast.Eq(),
    "!=": ast.NotEq(),
    "<": ast.Lt(),
    "<=": ast.LtE(),
    ">": ast.Gt(),
    ">=": ast.GtE(),
    "in": ast.In(),
    "not in": ast.NotIn(),
    "is": ast.Is(),
    "is not": ast.IsNot(),
}
_ARITHMETIC: dict[str, ast.operator] = {
    "+": ast.Add(),
    "-": ast.Sub(),
    "*": ast.Mult(),
    "/": ast.Div(),
    "//": ast.FloorDiv(),
}

TRUE: Tree = _Constant(True)
FALSE: Tree = _Constant(False)
NULL: Tree = _Constant(None)


# ---------------------------------------------------------------- expressions


def name(identifier: str) -> Tree:
    """`identifier`."""
    return _Name(identifier, _LOAD)


def number(value: int) -> Tree:
    """A number of the generator's own: a cost, a limit."""
    return _Constant(value)


def numbers(values: Iterable[int]) -> Tree:
    """`(1, 2)`: constants of the generator."""
    constant: Any = tuple(values)
    return _Constant(constant)


def attribute(value: Tree, identifier: str) -> Tree:
    """`value.identifier`."""
    return _Attribute(value, identifier, _LOAD)


def item(container: Tree, key: Tree) -> Tree:
    """`container[key]`."""
    return _Subscript(container, key, _LOAD)


def call(function: Tree, *arguments: Tree) -> Tree:
    """`function(*arguments)`."""
    return _Call(function, list(arguments), [])


def call_method(value: Tree, method: str, *arguments: Tree) -> Tree:
    """`value.method(*arguments)`."""
    return _Call(_Attribute(value, method, _LOAD), list(arguments), [])


def array(elements: list[Tree]) -> Tree:
    """`[*elements]`."""
    return _List(elements, _LOAD)


def group(*elements: Tree) -> Tree:
    """`(*elements,)`."""
    return _Tuple(list(elements), _LOAD)


def spread(elements: Tree) -> Tree:
    """`*elements` within a list."""
    return _Starred(elements, _LOAD)


def named(identifier: str, value: Tree) -> Tree:
    """`(identifier := value)`."""
    return _NamedExpr(_Name(identifier, _STORE), value)


def choose(test: Tree, then: Tree, otherwise: Tree) -> Tree:
    """`then if test else otherwise`."""
    return _IfExp(test, then, otherwise)


def both(tests: list[Tree]) -> Tree:
    """`and` of any number of tests."""
    return _BoolOp(_AND, tests) if len(tests) > 1 else tests[0]


def either(tests: list[Tree]) -> Tree:
    """`or` of any number of tests."""
    return _BoolOp(_OR, tests) if len(tests) > 1 else tests[0]


def negated(test: Tree) -> Tree:
    """`not test`."""
    return _UnaryOp(_NOT, test)


def minus(value: Tree) -> Tree:
    """`-value`."""
    return _UnaryOp(_MINUS, value)


def compare(left: Tree, operator: str, right: Tree) -> Tree:
    """`left operator right`, such as `<` or `is not`."""
    return _Compare(left, [_COMPARISONS[operator]], [right])


def relate(left: Tree, relation: str, right: Tree) -> Tree:
    """A comparison, or for `<=>` the order: -1, 0 or 1."""
    if relation == "<=>":
        return compute(compare(left, ">", right), "-", compare(left, "<", right))
    return compare(left, relation, right)


def compute(left: Tree, operator: str, right: Tree) -> Tree:
    """`left operator right`, such as `+` or `//`."""
    return _BinOp(left, _ARITHMETIC[operator], right)


def is_atom(tree: Tree) -> bool:
    """Whether a tree is a name or a literal: it may be evaluated any number of times."""
    return isinstance(tree, (ast.Name, ast.Constant))


def replaced(tree: Tree, part: Tree, substitute: Tree) -> Tree:
    """The tree with a substitute for one of its parts: for that very node, not for others that look the same."""
    if tree is part:
        return substitute
    fields = [getattr(tree, name) for name in tree._fields]
    return tree.__class__(*[_replaced_within(field, part, substitute) for field in fields])


def _replaced_within(field: Any, part: Tree, substitute: Tree) -> Any:
    if isinstance(field, list):
        return [_replaced_within(each, part, substitute) for each in field]
    return replaced(field, part, substitute) if isinstance(field, ast.expr) else field


# ---------------------------------------------------------------- statements


def assign(target: str, value: Tree) -> Statement:
    """`target = value`."""
    return _Assign([_Name(target, _STORE)], value, None)


def assign_each(targets: list[str], values: Tree) -> Statement:
    """`a, b = values`."""
    return _Assign([_targets(targets)], values, None)


def increase(target: str, amount: Tree) -> Statement:
    """`target += amount`."""
    return _AugAssign(_Name(target, _STORE), _ARITHMETIC["+"], amount)


def run(work: Tree) -> Statement:
    """A call for its effect."""
    return _Expr(work)


def when(test: Tree, then: list[Statement], otherwise: list[Statement]) -> ast.If:
    """`if test:`, and `else:` if there is something in that."""
    return _If(test, then, otherwise)


def loop(variables: list[str], elements: Tree, body: list[Statement]) -> Statement:
    """`for variables in elements:`."""
    return _For(_targets(variables), elements, body, [], None)


def attempt(body: list[Statement], exception: Tree, handler: list[Statement]) -> Statement:
    """`try:`, with a handler for one class of exceptions."""
    return _Try(body, [_ExceptHandler(exception, None, handler)], [], [])


def fail(error: Tree) -> Statement:
    """`raise error`."""
    return _Raise(error, None)


def give(value: Tree) -> Statement:
    """`return value`."""
    return _Return(value)


FAIL_AGAIN: Statement = _Raise(None, None)
STOP: Statement = _Break()
NOTHING: Statement = _Pass()


def define(identifier: str, parameters: list[str], body: list[Statement]) -> Statement:
    """`def identifier(parameters):`."""
    arguments = ast.arguments(
        [], [_Parameter(each, None, None) for each in parameters], None, [], [], None, []
    )
    fields: list[Any] = [identifier, arguments, body, [], None, None]
    if sys.version_info >= (3, 12):
        fields.append([])  # parameters of types
    return _FunctionDef(*fields)


def module(functions: list[Statement]) -> ast.Module:
    """The functions together, as what is compiled."""
    return ast.Module(functions, [])


def _targets(identifiers: list[str]) -> Tree:
    if len(identifiers) == 1:
        return _Name(identifiers[0], _STORE)
    return _Tuple([_Name(each, _STORE) for each in identifiers], _STORE)
