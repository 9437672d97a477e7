"""Parsing of text with syntax errors, so that the errors are those of the API server.

What the server's parser says after a first error depends on how exactly it goes on, so this parser does that rule by
rule of CEL's grammar (`deviceselectors.error_strategy` has the steps). Source: CEL's grammar in the language definition.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from deviceselectors import error_strategy as states
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
from deviceselectors.error_strategy import END, AbortError, ErrorStrategy, Rule, RuleError, State, mask
from deviceselectors.grammar import MAX_DEPTH, OPERATORS, RESERVED, LiteralError, balance, literal
from deviceselectors.issues import MISSING, NOWHERE, Issues
from deviceselectors.lexer import (
    COLON,
    COMMA,
    DOT,
    EOF,
    EXCLAM,
    FLOAT,
    IDENTIFIER,
    INT,
    LBRACE,
    LBRACKET,
    LOGICAL_AND,
    LOGICAL_OR,
    LPAREN,
    MINUS,
    QUESTION,
    RBRACE,
    RBRACKET,
    RPAREN,
    Token,
    has_escaped_names,
)
from deviceselectors.macros import Macros
from deviceselectors.types import STRING_TYPE
from resourceapi.measured import NEWEST


def parse_with_errors(issues: Issues, release: int = NEWEST, libraries: int = NEWEST) -> Node:
    """Parse `issues.source` whatever it is; returns a useless node if there are errors.

    :param release: of the server, whose syntax it can use (a minor number)
    :param libraries: the release whose macros it can use
    """
    parser = _Parser(issues, release, libraries)
    try:
        node = parser.start()
    except AbortError as abort:
        if abort.message:
            issues.report(NOWHERE, abort.message)
        return Node(NOWHERE)
    for position, message in parser.problems:
        issues.report(position, message)
    if parser.height > MAX_DEPTH:
        issues.report(NOWHERE, "max recursion depth exceeded")
    return node


_EXPRESSIONS, _RELATIONS_DEPTH, _CALCS, _OTHER = range(4)


class _Parser(ErrorStrategy):
    """The rules of CEL's grammar.

    Each returns the node of what it parsed and leaves in `height` how deep operators are nested in that. `follow` are
    the tokens that can come behind the rule where it is called. `problems` are the errors in what has the right
    syntax.
    """

    __slots__ = ("_depths", "_escaped_names", "_macros", "height", "problems")

    def __init__(self, issues: Issues, release: int, libraries: int) -> None:
        super().__init__(issues, release)
        self._escaped_names = has_escaped_names(release)
        self.problems: list[tuple[int, str]] = []
        self._macros = Macros(release, libraries, self.problems)
        self.height = 0
        self._depths = [0, 0, 0, 0]

    def _enter(self, follow: int, kind: int = _OTHER) -> None:
        self.rule = Rule(self.rule, follow)
        if kind != _OTHER:
            self._depths[kind] += 1
            if self._depths[kind] > MAX_DEPTH:
                raise AbortError(f"expression recursion limit exceeded: {MAX_DEPTH}")

    def _leave(self, kind: int = _OTHER) -> None:
        assert self.rule is not None
        self.rule = self.rule.parent
        self._depths[kind] -= 1

    def _comes(self, kinds: int) -> bool:
        return bool(kinds >> self.tokens.ahead().kind & 1)

    def start(self) -> Node:
        self._enter(0)
        node = self._expression(mask(EOF))
        with suppress(RuleError):
            self.match(EOF, states.START_END, states.START_DONE)
        return node

    # Operators

    def _expression(self, follow: int) -> Node:
        self._enter(follow, _EXPRESSIONS)
        node = self._disjunction(mask(QUESTION) | END)
        if self._comes(mask(QUESTION)):
            node = self._conditional(node)
        self._leave(_EXPRESSIONS)
        return node

    def _conditional(self, condition: Node) -> Node:
        position = self.match(QUESTION, states.CONDITION_MARK, states.CONDITION_TRUE).start
        height = self.height
        if_true: Node = Node(MISSING)
        if_false: Node = Node(MISSING)
        with suppress(RuleError):
            if_true = self._disjunction(mask(COLON))
            height = max(height, self.height)
            self.match(COLON, states.CONDITION_COLON, states.CONDITION_FALSE)
            if_false = self._expression(END)
            height = max(height, self.height)
        self.height = height + 1
        return Call(position, "_?_:_", [condition, if_true, if_false])

    def _disjunction(self, follow: int) -> Node:
        self._enter(follow)
        node = self._chain(LOGICAL_OR, states.OR_OPERATOR, "_||_", self._conjunction)
        self._leave()
        return node

    def _conjunction(self, follow: int) -> Node:
        self._enter(follow)
        node = self._chain(LOGICAL_AND, states.AND_OPERATOR, "_&&_", self._relation)
        self._leave()
        return node

    def _chain(self, kind: int, state: State, function: str, operand: Callable[[int], Node]) -> Node:
        follow = mask(kind) | END
        terms = [operand(follow)]
        height = self.height
        positions: list[int] = []
        while self._comes(mask(kind)):
            positions.append(self.match(kind, state, states.OPERAND).start)
            terms.append(operand(follow))
            height = max(height, self.height)
        self.height = height
        return balance(function, terms, positions) if positions else terms[0]

    def _relation(self, follow: int, is_right: bool = False) -> Node:
        self._enter(follow, _RELATIONS_DEPTH)
        node = self._calc(states.RELATIONS | END, 0)
        while not is_right and self._comes(states.RELATIONS):
            token, height = self._take(states.RELATION_OPERATOR), self.height
            right = self._relation(states.RELATIONS | END, True)
            self.height = max(height, self.height) + 1
            node = Call(token.start, OPERATORS[token.kind], [node, right])
        self._leave(_RELATIONS_DEPTH)
        return node

    def _calc(self, follow: int, floor: int) -> Node:
        """Operands joined by sums and products; by products only behind a sum's operator, by none behind a product's."""
        self._enter(follow, _CALCS)
        operators = states.PRODUCTS | states.SUMS | END
        node = self._unary(operators)
        while (floor <= 2 and self._comes(states.PRODUCTS)) or (floor <= 1 and self._comes(states.SUMS)):
            token, height = self._take(states.CALC_OPERATOR), self.height
            right = self._calc(operators, 3 if states.PRODUCTS >> token.kind & 1 else 2)
            self.height = max(height, self.height) + 1
            node = Call(token.start, OPERATORS[token.kind], [node, right])
        self._leave(_CALCS)
        return node

    def _take(self, state: State) -> Token:
        """The current token, which is known to fit."""
        return self.match(self.tokens.ahead().kind, state, states.OPERAND)

    def _unary(self, follow: int) -> Node:
        self._enter(follow)
        start = self.tokens.ahead().start
        try:
            self.sync(states.UNARY_START)
            node = self._unary_alternative()
        except RuleError:
            self.height = 0
            node = Literal(start, "<<error>>", STRING_TYPE)
        self._leave()
        return node

    def _unary_alternative(self) -> Node:
        token, second = self.tokens.ahead(), self.tokens.ahead(2)
        if token.kind == EXCLAM:
            return self._not()
        if token.kind == MINUS and second.kind not in (INT, FLOAT):
            if states.PRIMARY >> second.kind & 1:
                return self._negate()
            raise self.no_viable_alternative(states.UNARY_START, second)
        if self._comes(states.PRIMARY):
            return self._member(END)
        raise self.no_viable_alternative(states.UNARY_START, token)

    def _not(self) -> Node:
        positions: list[int] = []
        while not positions or self._comes(mask(EXCLAM)):
            positions.append(self.match(EXCLAM, states.NOT_FIRST, states.NOT_NEXT).start)
            self.sync(states.NOT_NEXT, is_loop_end=True)
        operand = self._member(END)
        return Call(positions[0], "!_", [operand]) if len(positions) % 2 else operand

    def _negate(self) -> Node:
        positions = [self.match(MINUS, states.NEGATE_FIRST, states.NEGATE_NEXT).start]
        operand: Node = Node(MISSING)
        with suppress(RuleError):
            while self._goes_on_negating():
                positions.append(self.match(MINUS, states.NEGATE_FIRST, states.NEGATE_NEXT).start)
            operand = self._member(END)
        return Call(positions[0], "-_", [operand]) if len(positions) % 2 else operand

    def _goes_on_negating(self) -> bool:
        self.sync(states.NEGATE_NEXT, is_loop_end=True)
        token = self.tokens.ahead()
        if token.kind == MINUS:
            token = self.tokens.ahead(2)
            if states.PRIMARY >> token.kind & 1:
                return True
        elif self._comes(states.PRIMARY):
            return False
        raise self.no_viable_alternative(states.NEGATE_NEXT, token)

    # What comes behind an operand

    def _member(self, follow: int) -> Node:
        self._enter(follow)
        start = self.tokens.ahead().start
        node = self._primary(states.POSTFIX | END)
        try:
            while self._comes(states.POSTFIX):
                node, is_whole = self._postfix(node, start)
                if not is_whole:
                    break
        except RuleError:
            pass
        self._leave()
        return node

    def _postfix(self, operand: Node, start: int) -> tuple[Node, bool]:
        """The operand, which starts there, with the next select, call or index, and whether that was complete."""
        if self._comes(mask(LBRACKET)):
            return self._index(operand)
        second = self.tokens.ahead(2)
        if second.kind == IDENTIFIER and self.tokens.ahead(3).kind == LPAREN:
            return self._member_call(operand)
        if states.OPTIONAL_NAME >> second.kind & 1:
            try:
                return self._select(operand), True
            except RuleError:
                return Node(start), False
        raise self.no_viable_alternative(states.MEMBER_STEP, second)

    def _select(self, operand: Node) -> Node:
        height = self.height + 1
        dot = self.match(DOT, states.SELECT_DOT, states.SELECT_NAME)
        is_optional = self._comes(mask(QUESTION))
        if is_optional:
            self.match(QUESTION, states.SELECT_MARK, states.SELECT_FIELD)
        start = self.tokens.ahead().start
        name = self._name(states.POSTFIX | END)
        if name is None:
            self.problems.append((start, "unsupported ident kind"))
        field = "" if name is None else name.text.strip("`")
        self.height = height
        if is_optional:
            return Call(dot.start, "_?._", [operand, Literal(start, field, STRING_TYPE)])
        return Select(dot.start, operand, field)

    def _name(self, follow: int) -> Token | None:
        """A field's name, or None if there is none."""
        if not self._escaped_names:
            return self.match(IDENTIFIER, states.NAME_TOKEN, State(follow))
        self._enter(follow)
        name: Token | None = None
        with suppress(RuleError):
            self.sync(states.NAME_START)
            if not self._comes(states.NAME):
                raise self.no_viable_alternative(states.NAME_START, self.tokens.ahead())
            name = self._take(states.NAME_TOKEN)
        self._leave()
        return name

    def _member_call(self, operand: Node) -> tuple[Node, bool]:
        height = self.height
        self.match(DOT, states.CALL_DOT, states.CALL_NAME)
        name = self.match(IDENTIFIER, states.CALL_NAME, states.CALL_OPEN)
        position = self.match(LPAREN, states.CALL_OPEN, states.CALL_ARGUMENTS).start
        args, is_whole = self._arguments(states.CALL_ARGUMENTS, states.CALL_CLOSE, states.MEMBER_END)
        self.height = max(height, self.height) + 1
        return self._macros.call(position, name.text, operand, args), is_whole

    def _arguments(self, first: State, close: State, behind: State) -> tuple[list[Node], bool]:
        """The arguments behind an opening parenthesis, and whether they were closed."""
        args: list[Node] = []
        self.height = 0
        try:
            self.sync(first)
            if self._comes(states.EXPRESSION):
                args = self._expression_list(mask(RPAREN))
            self.match(RPAREN, close, behind)
        except RuleError:
            return args, False
        return args, True

    def _expression_list(self, follow: int) -> list[Node]:
        self._enter(follow)
        nodes = [self._expression(mask(COMMA) | END)]
        height = self.height
        while self._comes(mask(COMMA)):
            self.match(COMMA, states.ITEM_COMMA, states.OPERAND)
            nodes.append(self._expression(mask(COMMA) | END))
            height = max(height, self.height)
        self.height = height
        self._leave()
        return nodes

    def _index(self, operand: Node) -> tuple[Node, bool]:
        height = self.height
        position = self.match(LBRACKET, states.INDEX_OPEN, states.INDEX_START).start
        index: Node = Node(MISSING)
        function, is_whole = "_[_]", False
        with suppress(RuleError):
            self.sync(states.INDEX_START)
            if self._comes(mask(QUESTION)):
                self.match(QUESTION, states.INDEX_MARK, states.INDEX_VALUE)
                function = "_[?_]"
            index = self._expression(mask(RBRACKET))
            height = max(height, self.height)
            self.match(RBRACKET, states.INDEX_CLOSE, states.MEMBER_END)
            is_whole = True
        self.height = height + 1
        return Call(position, function, [operand, index]), is_whole

    # Operands

    def _primary(self, follow: int) -> Node:
        self._enter(follow)
        self.height = 0
        try:
            self.sync(states.PRIMARY_START)
            node = self._primary_alternative()
        except RuleError:
            node = Node(MISSING)
        self._leave()
        return node

    def _primary_alternative(self) -> Node:
        kind = self.tokens.ahead().kind
        if kind in (IDENTIFIER, DOT):
            return self._named()
        if kind == LPAREN:
            return self._nested()
        if kind == LBRACKET:
            return self._list()
        if kind == LBRACE:
            return self._map()
        if self._comes(states.LITERALS):
            return self._literal(END)
        raise self.no_viable_alternative(states.PRIMARY_START, self.tokens.ahead())

    def _named(self) -> Node:
        """A variable, a call without target or a message."""
        has_dot = self._comes(mask(DOT))
        distance = 3 if has_dot else 2
        if has_dot and self.tokens.ahead(2).kind != IDENTIFIER:
            raise self.no_viable_alternative(states.PRIMARY_START, self.tokens.ahead(2))
        is_call = self.tokens.ahead(distance).kind == LPAREN
        while self.tokens.ahead(distance).kind == DOT and self.tokens.ahead(distance + 1).kind == IDENTIFIER:
            distance += 2
        if self.tokens.ahead(distance).kind == LBRACE:
            return self._message(has_dot)
        start = self.tokens.ahead().start
        if has_dot:
            self.match(DOT, states.IDENT_DOT, states.IDENT_NAME)
        name = self.match(IDENTIFIER, states.IDENT_NAME, states.FUNCTION_OPEN)
        full_name = "." + name.text if has_dot else name.text
        known = len(self.problems)
        if is_call:
            position = self.match(LPAREN, states.FUNCTION_OPEN, states.FUNCTION_ARGUMENTS).start
            args, _ = self._arguments(states.FUNCTION_ARGUMENTS, states.FUNCTION_CLOSE, states.PRIMARY_END)
            if name.text not in RESERVED:
                return self._macros.call(position, full_name, None, args)
        elif name.text not in RESERVED:
            return Ident(name.start, full_name)
        # The server does not look at the arguments then.
        del self.problems[known:]
        self.height = 0
        self.problems.append((start, f"reserved identifier: {name.text}"))
        return Node(start)

    def _nested(self) -> Node:
        self.match(LPAREN, states.NESTED_OPEN, states.NESTED_VALUE)
        node = self._expression(mask(RPAREN))
        with suppress(RuleError):
            self.match(RPAREN, states.NESTED_CLOSE, states.PRIMARY_END)
        return node

    def _list(self) -> Node:
        position = self.match(LBRACKET, states.LIST_OPEN, states.LIST_START).start
        elements: list[Node] = []
        with suppress(RuleError):
            self.sync(states.LIST_START)
            if self._comes(states.OPTIONAL):
                elements = self._list_elements(mask(COMMA, RBRACKET))
            self.sync(states.LIST_TAIL)
            if self._comes(mask(COMMA)):
                self.match(COMMA, states.LIST_COMMA, states.LIST_CLOSE)
            self.match(RBRACKET, states.LIST_CLOSE, states.PRIMARY_END)
        return ListLiteral(position, elements)

    def _list_elements(self, follow: int) -> list[Node]:
        self._enter(follow)
        elements = [self._option(mask(COMMA) | END)]
        height = self.height
        while self._another(states.OPTIONAL):
            self.match(COMMA, states.ITEM_COMMA, states.OPTION_START)
            elements.append(self._option(mask(COMMA) | END))
            height = max(height, self.height)
        self.height = height
        self._leave()
        return elements

    def _another(self, kinds: int) -> bool:
        """Whether a comma comes and another item behind it."""
        return self._comes(mask(COMMA)) and bool(kinds >> self.tokens.ahead(2).kind & 1)

    def _option(self, follow: int) -> Node:
        """An expression with or without a question mark before it."""
        self._enter(follow)
        node: Node = Node(MISSING)
        with suppress(RuleError):
            self.sync(states.OPTION_START)
            if self._comes(mask(QUESTION)):
                self.match(QUESTION, states.OPTION_MARK, states.OPTION_VALUE)
            node = self._expression(END)
        self._leave()
        return node

    def _map(self) -> Node:
        position = self.match(LBRACE, states.MAP_OPEN, states.MAP_START).start
        entries: list[MapEntry] = []
        with suppress(RuleError):
            self.sync(states.MAP_START)
            if self._comes(states.OPTIONAL):
                entries = self._map_entries(mask(COMMA, RBRACE))
            self.sync(states.MAP_TAIL)
            if self._comes(mask(COMMA)):
                self.match(COMMA, states.MAP_COMMA, states.MAP_CLOSE)
            self.match(RBRACE, states.MAP_CLOSE, states.PRIMARY_END)
        return MapLiteral(position, entries)

    def _map_entries(self, follow: int) -> list[MapEntry]:
        self._enter(follow)
        entries: list[MapEntry] = []
        height = 0
        with suppress(RuleError):
            while not entries or self._another(states.OPTIONAL):
                if entries:
                    self.match(COMMA, states.ITEM_COMMA, states.OPTION_START)
                known = len(self.problems)
                key = self._option(mask(COLON))
                key_height, problems = self.height, self.problems[known:]
                # A key without a colon is not looked at.
                del self.problems[known:]
                place = states.NEXT_ENTRY_COLON if entries else states.ENTRY_COLON
                colon = self.match(COLON, place, states.ENTRY_VALUE).start
                self.problems += problems
                entries.append(MapEntry(colon, key, self._expression(mask(COMMA) | END), False))
                height = max(height, key_height, self.height)
        self.height = height
        self._leave()
        return entries

    def _message(self, has_dot: bool) -> Node:
        if has_dot:
            self.match(DOT, states.MESSAGE_DOT, states.MESSAGE_NAME)
        name = self.match(IDENTIFIER, states.MESSAGE_NAME, states.MESSAGE_OPEN).text
        while self._comes(mask(DOT)):
            self.match(DOT, states.MESSAGE_DOT, states.MESSAGE_NAME)
            name += "." + self.match(IDENTIFIER, states.MESSAGE_NAME, states.MESSAGE_OPEN).text
        position = self.match(LBRACE, states.MESSAGE_OPEN, states.MESSAGE_START).start
        fields: list[StructField] = []
        with suppress(RuleError):
            self.sync(states.MESSAGE_START)
            if self._comes(states.OPTIONAL_NAME):
                fields = self._fields(mask(COMMA, RBRACE))
            self.sync(states.MESSAGE_TAIL)
            if self._comes(mask(COMMA)):
                self.match(COMMA, states.MESSAGE_COMMA, states.MESSAGE_CLOSE)
            self.match(RBRACE, states.MESSAGE_CLOSE, states.PRIMARY_END)
        return StructLiteral(position, "." + name if has_dot else name, fields)

    def _fields(self, follow: int) -> list[StructField]:
        self._enter(follow)
        start = self.tokens.ahead().start
        fields: list[StructField] = []
        height = 0
        with suppress(RuleError):
            while not fields or self._another(states.OPTIONAL_NAME):
                if fields:
                    self.match(COMMA, states.ITEM_COMMA, states.FIELD_START)
                name = self._field_name(mask(COLON))
                place = states.NEXT_FIELD_COLON if fields else states.FIELD_COLON
                colon = self.match(COLON, place, states.FIELD_VALUE).start
                known = len(self.problems)
                value = self._expression(mask(COMMA) | END)
                if name is None:
                    # The server does not look at the value of a field without a name.
                    self.problems[known:] = [(start, "unsupported ident kind")] if self._escaped_names else []
                    self.height = 0
                height = max(height, self.height)
                fields.append(StructField(colon, "" if name is None else name.text.strip("`"), value, False))
        self.height = height
        self._leave()
        return fields

    def _field_name(self, follow: int) -> Token | None:
        self._enter(follow)
        name: Token | None = None
        with suppress(RuleError):
            self.sync(states.FIELD_START)
            if self._comes(mask(QUESTION)):
                self.match(QUESTION, states.FIELD_MARK, states.NAME_START)
            name = self._name(END)
        self._leave()
        return name

    def _literal(self, follow: int) -> Node:
        self._enter(follow)
        start = self.tokens.ahead().start
        node: Node = Node(MISSING)
        with suppress(RuleError):
            self.sync(states.LITERAL_START)
            sign = ""
            if self._comes(mask(MINUS)):
                if self.tokens.ahead(2).kind not in (INT, FLOAT):
                    raise self.no_viable_alternative(states.LITERAL_START, self.tokens.ahead(2))
                sign = self.match(MINUS, states.LITERAL_SIGN, states.LITERAL_TOKEN).text
            token = self._take(states.LITERAL_TOKEN)
            try:
                node = literal(start, token.kind, sign, token.text) or node
            except LiteralError as error:
                self.problems.append((start, str(error)))
                node = Node(start)
        self._leave()
        return node
