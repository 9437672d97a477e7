"""From source text to nodes.

`parse` is for the usual case, text without syntax errors. As soon as it meets one, or the nesting comes near a limit,
it leaves the text to `deviceselectors.recovery`, which parses it again the way that yields the API server's errors.
"""

from __future__ import annotations

import sys

from deviceselectors.ast import (
    Call,
    Ident,
    ListLiteral,
    Literal,
    MapEntry,
    MapLiteral,
    Node,
    Select,
    StructField,
    StructLiteral,
)
from deviceselectors.grammar import MAX_DEPTH, OPERATORS, RESERVED, LiteralError, balance, literal
from deviceselectors.issues import Issues
from deviceselectors.lexer import (
    COLON,
    COMMA,
    DIVIDE,
    DOT,
    EOF,
    EQUALS,
    ESCAPED_IDENTIFIER,
    EXCLAM,
    FLOAT,
    GREATER,
    GREATER_EQUALS,
    IDENTIFIER,
    IN,
    INT,
    LBRACE,
    LBRACKET,
    LESS,
    LESS_EQUALS,
    LOGICAL_AND,
    LOGICAL_OR,
    LPAREN,
    MINUS,
    NOT_EQUALS,
    PERCENT,
    PLUS,
    QUESTION,
    RBRACE,
    RBRACKET,
    RPAREN,
    STAR,
    has_escaped_names,
    scan,
)
from deviceselectors.macros import Macros
from deviceselectors.types import STRING_TYPE
from resourceapi.measured import NEWEST

_SMALL = 80
_RECURSION_LIMIT = 20_000


_OR, _AND = 1, 2
_PRECEDENCE = [0] * 36
for _kind in (EQUALS, NOT_EQUALS, IN, LESS, LESS_EQUALS, GREATER_EQUALS, GREATER):
    _PRECEDENCE[_kind] = 3
_PRECEDENCE[LOGICAL_OR], _PRECEDENCE[LOGICAL_AND] = _OR, _AND
_PRECEDENCE[PLUS] = _PRECEDENCE[MINUS] = 4
_PRECEDENCE[STAR] = _PRECEDENCE[DIVIDE] = _PRECEDENCE[PERCENT] = 5


def parse(issues: Issues, release: int = NEWEST, libraries: int = NEWEST) -> Node:
    """The expression in `issues.source`; what is wrong with it goes into `issues`.

    :param release: of the server, whose syntax it can use (a minor number)
    :param libraries: the release whose macros it can use
    """
    tokens = scan(issues.source.text, has_escaped_names(release))
    if tokens is not None:
        kinds = tokens[0]
        if len(kinds) > _SMALL:
            allow_deep_recursion()
        if len(kinds) < MAX_DEPTH - 10 or _is_shallow(kinds):
            parser = _Parser(*tokens, release, libraries)
            try:
                node = parser.parse()
            except _SyntaxTroubleError:
                pass
            else:
                for position, message in parser.problems:
                    issues.report(position, message)
                return node
    from deviceselectors.recovery import parse_with_errors

    allow_deep_recursion()
    return parse_with_errors(issues, release, libraries)


def allow_deep_recursion() -> None:
    """Let functions that follow an expression's nesting go as deep as the limits on expressions allow.

    That is some 2,500 calls. Python's calls need no C stack, so the higher limit endangers nothing.
    """
    if sys.getrecursionlimit() < _RECURSION_LIMIT:
        sys.setrecursionlimit(_RECURSION_LIMIT)


def _is_shallow(kinds: list[int]) -> bool:
    """Whether the tokens cannot reach any limit on depth, however they are nested. It may say no without need."""
    # Per open bracket: operators in its current segment, most in any of its segments so far with what is inside.
    here = deepest = below = 0
    enclosing: list[tuple[int, int, int]] = []
    brackets = 0
    for kind in kinds:
        if kind in (LPAREN, LBRACKET, LBRACE):
            enclosing.append((here + 1, deepest, below))
            brackets = max(brackets, len(enclosing))
            here = deepest = below = 0
        elif kind in (RPAREN, RBRACKET, RBRACE):
            if not enclosing:
                return False
            inside = max(deepest, here + below)
            here, deepest, below = enclosing.pop()
            below = max(below, inside)
        elif kind in (COMMA, LOGICAL_AND, LOGICAL_OR):
            deepest = max(deepest, here + below)
            here = below = 0
        elif kind in (DOT, QUESTION) or _PRECEDENCE[kind]:
            here += 1
    conditions = kinds.count(QUESTION)
    return max(deepest, here + below) < MAX_DEPTH and 3 * (brackets + conditions + 1) < MAX_DEPTH


class _SyntaxTroubleError(Exception):
    """The text has a syntax error; which one is for the careful parser to say."""


class _Parser:
    """Recursive descent over the tokens. `problems` are the errors that are not about syntax."""

    __slots__ = ("_at", "_kinds", "_macros", "_positions", "_texts", "problems")

    def __init__(
        self, kinds: list[int], texts: list[str], positions: list[int], release: int, libraries: int
    ) -> None:
        self._kinds = kinds
        self._texts = texts
        self._positions = positions
        self._at = 0
        self.problems: list[tuple[int, str]] = []
        self._macros = Macros(release, libraries, self.problems)

    def parse(self) -> Node:
        node = self._expression()
        if self._kinds[self._at] != EOF:
            raise _SyntaxTroubleError
        return node

    def _expect(self, kind: int) -> None:
        if self._kinds[self._at] != kind:
            raise _SyntaxTroubleError
        self._at += 1

    def _expression(self) -> Node:
        condition = self._binary(0)
        if self._kinds[self._at] != QUESTION:
            return condition
        position = self._positions[self._at]
        self._at += 1
        if_true = self._binary(0)
        self._expect(COLON)
        return Call(position, "_?_:_", [condition, if_true, self._expression()])

    def _binary(self, floor: int) -> Node:
        """Operands joined by operators that bind tighter than `floor`."""
        left = self._unary()
        kinds = self._kinds
        while True:
            kind = kinds[self._at]
            precedence = _PRECEDENCE[kind]
            if precedence <= floor:
                return left
            position = self._positions[self._at]
            self._at += 1
            right = self._binary(precedence)
            if precedence > _AND:
                left = Call(position, OPERATORS[kind], [left, right])
            else:
                left = self._logic(kind, left, right, position)

    def _logic(self, kind: int, left: Node, right: Node, position: int) -> Node:
        function = "_||_" if kind == LOGICAL_OR else "_&&_"
        if self._kinds[self._at] != kind:
            return Call(position, function, [left, right])
        terms, positions = [left, right], [position]
        while self._kinds[self._at] == kind:
            positions.append(self._positions[self._at])
            self._at += 1
            terms.append(self._binary(_PRECEDENCE[kind]))
        return balance(function, terms, positions)

    def _unary(self) -> Node:
        kinds, start = self._kinds, self._at
        kind = kinds[start]
        if kind != EXCLAM and kind != MINUS:
            return self._member()
        if kind == MINUS and kinds[start + 1] in (INT, FLOAT):
            return self._member()
        while kinds[self._at] == kind:
            self._at += 1
        count = self._at - start
        operand = self._member()
        if count % 2 == 0:
            return operand
        return Call(self._positions[start], "!_" if kind == EXCLAM else "-_", [operand])

    def _member(self) -> Node:
        node = self._primary()
        kinds, texts, positions = self._kinds, self._texts, self._positions
        while True:
            at = self._at
            kind = kinds[at]
            if kind == DOT:
                if kinds[at + 1] == IDENTIFIER:
                    if kinds[at + 2] == LPAREN:
                        self._at = at + 3
                        node = self._macros.call(positions[at + 2], texts[at + 1], node, self._arguments())
                    else:
                        self._at = at + 2
                        node = Select(positions[at], node, texts[at + 1])
                else:
                    node = self._special_select(node)
            elif kind == LBRACKET:
                self._at = at + 1
                node = self._index(node, positions[at])
            else:
                return node

    def _special_select(self, operand: Node) -> Node:
        """A select with a question mark or a name in backticks; the current token is the dot."""
        at = self._at
        optional = self._kinds[at + 1] == QUESTION
        name = at + 2 if optional else at + 1
        if self._kinds[name] not in (IDENTIFIER, ESCAPED_IDENTIFIER):
            raise _SyntaxTroubleError
        self._at = name + 1
        field = self._texts[name].strip("`")
        if not optional:
            return Select(self._positions[at], operand, field)
        literal = Literal(self._positions[name], field, STRING_TYPE)
        return Call(self._positions[at], "_?._", [operand, literal])

    def _index(self, operand: Node, position: int) -> Node:
        function = "_[_]"
        if self._kinds[self._at] == QUESTION:
            self._at += 1
            function = "_[?_]"
        index = self._expression()
        self._expect(RBRACKET)
        return Call(position, function, [operand, index])

    def _arguments(self) -> list[Node]:
        """The arguments of a call up to the closing parenthesis; the opening one has been read."""
        if self._kinds[self._at] == RPAREN:
            self._at += 1
            return []
        args = [self._expression()]
        while self._kinds[self._at] == COMMA:
            self._at += 1
            args.append(self._expression())
        self._expect(RPAREN)
        return args

    def _primary(self) -> Node:
        kind = self._kinds[self._at]
        if kind in (IDENTIFIER, DOT):
            return self._named()
        if kind == LPAREN:
            self._at += 1
            node = self._expression()
            self._expect(RPAREN)
            return node
        if kind == LBRACKET:
            return self._list()
        if kind == LBRACE:
            return self._map()
        return self._literal()

    def _named(self) -> Node:
        """A variable, a call without target or a message."""
        kinds, at = self._kinds, self._at
        start = at
        prefix = ""
        if kinds[at] == DOT:
            prefix = "."
            at += 1
            if kinds[at] != IDENTIFIER:
                raise _SyntaxTroubleError
        end = at + 1
        if kinds[end] == DOT or kinds[end] == LBRACE:
            while kinds[end] == DOT and kinds[end + 1] == IDENTIFIER:
                end += 2
            if kinds[end] == LBRACE:
                self._at = end + 1
                return self._message(prefix + "".join(self._texts[at:end]), self._positions[end])
        name = self._texts[at]
        self._at = at + 1
        problems = len(self.problems)
        if kinds[at + 1] == LPAREN:
            self._at = at + 2
            args = self._arguments()
            if name not in RESERVED:
                return self._macros.call(self._positions[at + 1], prefix + name, None, args)
        elif name not in RESERVED:
            return Ident(self._positions[at], prefix + name)
        del self.problems[problems:]
        self.problems.append((self._positions[start], f"reserved identifier: {name}"))
        return Node(self._positions[start])

    def _message(self, name: str, position: int) -> Node:
        fields: list[StructField] = []
        while self._kinds[self._at] != RBRACE:
            optional = self._kinds[self._at] == QUESTION
            if optional:
                self._at += 1
            if self._kinds[self._at] not in (IDENTIFIER, ESCAPED_IDENTIFIER):
                if self._kinds[self._at] == COMMA and not fields and not optional:
                    self._at += 1
                    break
                raise _SyntaxTroubleError
            field = self._texts[self._at].strip("`")
            self._at += 1
            colon = self._positions[self._at]
            self._expect(COLON)
            fields.append(StructField(colon, field, self._expression(), optional))
            if self._kinds[self._at] != COMMA:
                break
            self._at += 1
        self._expect(RBRACE)
        return StructLiteral(position, name, fields)

    def _list(self) -> Node:
        position = self._positions[self._at]
        self._at += 1
        elements: list[Node] = []
        optionals: list[int] = []
        while self._kinds[self._at] != RBRACKET:
            if self._kinds[self._at] == COMMA and not elements:
                self._at += 1
                break
            if self._kinds[self._at] == QUESTION:
                self._at += 1
                optionals.append(len(elements))
            elements.append(self._expression())
            if self._kinds[self._at] != COMMA:
                break
            self._at += 1
        self._expect(RBRACKET)
        return ListLiteral(position, elements, tuple(optionals))

    def _map(self) -> Node:
        position = self._positions[self._at]
        self._at += 1
        entries: list[MapEntry] = []
        while self._kinds[self._at] != RBRACE:
            if self._kinds[self._at] == COMMA and not entries:
                self._at += 1
                break
            optional = self._kinds[self._at] == QUESTION
            if optional:
                self._at += 1
            key = self._expression()
            colon = self._positions[self._at]
            self._expect(COLON)
            entries.append(MapEntry(colon, key, self._expression(), optional))
            if self._kinds[self._at] != COMMA:
                break
            self._at += 1
        self._expect(RBRACE)
        return MapLiteral(position, entries)

    def _literal(self) -> Node:
        at = self._at
        position = self._positions[at]
        sign = ""
        if self._kinds[at] == MINUS:
            at += 1
            sign = "-"
            if self._kinds[at] not in (INT, FLOAT):
                raise _SyntaxTroubleError
        self._at = at + 1
        try:
            node = literal(position, self._kinds[at], sign, self._texts[at])
        except LiteralError as error:
            self.problems.append((position, str(error)))
            return Node(position)
        if node is None:
            raise _SyntaxTroubleError
        return node
