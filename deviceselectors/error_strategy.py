"""How the server's parser goes on after a syntax error: ANTLR's default error strategy.

It drops or invents a token, or skips to where an enclosing rule can go on. Source: ANTLR 4.13, "Automatic error
recovery"; the limits are cel-go's.
"""

from __future__ import annotations

from deviceselectors.issues import Issues
from deviceselectors.lexer import (
    BYTES,
    COLON,
    COMMA,
    DIVIDE,
    DOT,
    EOF,
    EQUALS,
    ESCAPED_IDENTIFIER,
    EXCLAM,
    FALSE,
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
    NAMES,
    NOT_EQUALS,
    NULL,
    PERCENT,
    PLUS,
    QUESTION,
    RBRACE,
    RBRACKET,
    RPAREN,
    STAR,
    STRING,
    TRUE,
    UINT,
    Token,
    TokenStream,
    has_escaped_names,
)

# Text that Go prints as a format without arguments.
# The parser of releases before 1.33 prints its own messages so: what stands behind a percent sign in them,
# often the quote or the character of the expression that follows it, is missing an argument.

_FLAGS = "#0+- "
_MOST = 1_000_000


def printed(text: str) -> str:
    """What `fmt.Sprintf(text)` gives."""
    if "%" not in text:
        return text
    parts: list[str] = []
    at = 0
    while (mark := text.find("%", at)) >= 0:
        parts.append(text[at:mark])
        shown, at = _Clause(text, mark + 1).print()
        parts.append(shown)
    return "".join(parts) + text[at:]


class _Clause:
    """What stands behind one percent sign: flags, width, precision and verb."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self._at = at
        self._shown = ""
        self._is_bad_index = False

    def print(self) -> tuple[str, int]:
        """What is printed in its place, and where the text goes on."""
        while self._next() and self._next() in _FLAGS:
            self._at += 1
        indexed = self._index()
        if self._next() == "*":
            self._at += 1
            self._shown += "%!(BADWIDTH)"
            indexed = False
        elif self._number() and indexed:
            self._is_bad_index = True
        if self._next() == ".":
            indexed = self._precision(indexed)
        if not indexed:
            self._index()
        return self._shown + self._verb(), self._at

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _precision(self, indexed: bool) -> bool:
        self._at += 1
        if indexed:
            self._is_bad_index = True
        indexed = self._index()
        if self._next() == "*":
            self._at += 1
            self._shown += "%!(BADPREC)"
            return False
        self._number()
        return indexed

    def _verb(self) -> str:
        verb = self._next()
        if not verb:
            return "%!(NOVERB)"
        self._at += 1
        if verb == "%":
            return "%"
        return f"%!{verb}({'BADINDEX' if self._is_bad_index else 'MISSING'})"

    def _index(self) -> bool:
        """Take the number of an argument, in brackets; whether there is one."""
        if self._next() != "[":
            return False
        self._is_bad_index = True  # there are no arguments
        close = self._text.find("]", self._at + 1)
        if len(self._text) - self._at < 3 or close < 0:
            self._at += 1
            return False
        digits = self._text[self._at + 1 : close]
        self._at = close + 1
        return digits.isascii() and digits.isdigit() and int(digits[:8]) <= _MOST

    def _number(self) -> bool:
        start = self._at
        while "0" <= self._next() <= "9":
            self._at += 1
            if self._at - start > 7 or int(self._text[start : self._at]) > _MOST:
                self._at = len(self._text)
                return False
        return self._at > start


_NO_ALTERNATIVE = "no viable alternative at input "
#: The first release (minor number) that prints messages as they are, and not as formats.
_MESSAGES_SINCE = 33
_MAX_ERRORS = 100
_MAX_RECOVERIES = 30
_MAX_SKIPPED = 256

# Sets of token types are bit masks; this bit says that the rule may end here.
END = 1 << 40


def mask(*kinds: int) -> int:
    """A set of kinds of tokens, a bit for each."""
    mask = 0
    for kind in kinds:
        mask |= 1 << kind
    return mask


class State:
    """A place in a rule: the tokens that can come there."""

    __slots__ = ("next",)

    def __init__(self, next_tokens: int) -> None:
        self.next = next_tokens


class Rule:
    """A rule that is being parsed, and the tokens that can follow where it was called."""

    __slots__ = ("follow", "parent")

    def __init__(self, parent: Rule | None, follow: int) -> None:
        self.parent = parent
        self.follow = follow


class RuleError(Exception):
    """The rule cannot go on; its error has been reported."""


class AbortError(Exception):
    """Parsing is over; `message` is an error that has not been reported yet, if any."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.message = message


class ErrorStrategy:
    """ANTLR's default error strategy with cel-go's limits, over a token stream."""

    def __init__(self, issues: Issues, release: int) -> None:
        self._issues = issues
        self._prints_formats = release < _MESSAGES_SINCE
        self._known = -1 if has_escaped_names(release) else ~mask(ESCAPED_IDENTIFIER)
        self._errors = 0
        self._recoveries = 0
        self._recovering = False
        self._failed_at = -1
        self._failed_in: set[State] = set()
        self.rule: Rule | None = None
        self.tokens = TokenStream(issues.source.text, self._syntax_error, has_escaped_names(release))

    def _syntax_error(self, position: int, message: str) -> None:
        if self._errors == _MAX_ERRORS:
            self._issues.report(position, f"Syntax error: More than {_MAX_ERRORS} syntax errors")
            raise AbortError
        self._errors += 1
        head, quoted = message[: len(_NO_ALTERNATIVE)], message[len(_NO_ALTERNATIVE) :]
        if head == _NO_ALTERNATIVE and quoted[2:-1] in ("true", "false", "null"):
            message = f"mismatched input '{quoted[2:-1]}' expecting IDENTIFIER"
        message = f"Syntax error: {message}"
        self._issues.report(position, printed(message) if self._prints_formats else message)

    def _end_recovery(self) -> None:
        self._recovering = False
        self._failed_in = set()
        self._failed_at = -1

    def _report(self, token: Token, message: str) -> None:
        """Report an error unless it may come from the one before."""
        if not self._recovering:
            self._recovering = True
            self._syntax_error(token.start, message)

    # What is expected

    def _expected(self, state: State) -> int:
        """The tokens that can come in a state, with those behind the rules around it where they can end."""
        following = state.next
        expected = following & ~END
        rule = self.rule
        while following & END and rule is not None and rule.parent is not None:
            following = rule.follow
            expected |= following & ~END
            rule = rule.parent
        return self._known & (expected | mask(EOF) if following & END else expected)

    def _recovery_set(self) -> int:
        found = 0
        rule = self.rule
        while rule is not None and rule.parent is not None:
            found |= rule.follow
            rule = rule.parent
        return found & ~END

    # Errors

    def _report_mismatch(self, state: State) -> None:
        token = self.tokens.ahead()
        self._report(
            token, f"mismatched input {_quote(token.text)} expecting {_describe(self._expected(state))}"
        )

    def _report_unwanted(self, state: State) -> None:
        token = self.tokens.ahead()
        self._report(
            token, f"extraneous input {_quote(token.text)} expecting {_describe(self._expected(state))}"
        )

    def no_viable_alternative(self, state: State, offending: Token) -> RuleError:
        """The error that no alternative of a rule fits the tokens up to the offending one."""
        start = self.tokens.ahead()
        text = "<EOF>" if start.kind == EOF else self.tokens.text_between(start, offending)
        self._report(offending, f"{_NO_ALTERNATIVE}{_quote(text)}")
        return self._fail(state)

    def _fail(self, state: State) -> RuleError:
        """Skip to where a rule around can go on; the caller is to raise the result."""
        self._count_recovery()
        skip = _Skipper(self.tokens)
        if self._failed_at == self.tokens.index and state in self._failed_in:
            # No token was consumed since the same state failed here: leave this one behind.
            skip.consume()
        self._failed_at = self.tokens.index
        self._failed_in.add(state)
        skip.to(self._recovery_set())
        return RuleError()

    def _count_recovery(self) -> None:
        if self._recoveries == _MAX_RECOVERIES:
            self._recoveries += 1
            token = self.tokens.ahead()
            self._syntax_error(token.start, f"error recovery attempt limit exceeded: {_MAX_RECOVERIES}")
            raise AbortError
        self._recoveries += 1

    # Steps of rules

    def sync(self, state: State, is_loop_end: bool = False) -> None:
        """Before a choice: leave out a token that cannot come here, or fail."""
        if self._recovering or state.next & END or state.next >> self.tokens.ahead().kind & 1:
            return
        if is_loop_end:
            self._report_unwanted(state)
            _Skipper(self.tokens, unlimited=True).to(self._expected(state) | self._recovery_set())
        elif self._delete_token(state, _Skipper(self.tokens, unlimited=True)) is None:
            self._report_mismatch(state)
            raise self._fail(state)

    def match(self, kind: int, state: State, behind: State) -> Token:
        """Take a token of the type, or leave one out before it, or invent it, or fail."""
        token = self.tokens.ahead()
        if token.kind == kind:
            self._end_recovery()
            self.tokens.consume()
            return token
        self._count_recovery()
        skip = _Skipper(self.tokens)
        found = self._delete_token(state, skip)
        if found is not None:
            skip.consume()
            return found
        if self._expected(behind) >> token.kind & 1:
            self._report(token, f"missing {_describe(self._expected(state))} at {_quote(token.text)}")
            return self._invent(kind, token)
        self._report_mismatch(state)
        raise self._fail(state)

    def _delete_token(self, state: State, skip: _Skipper) -> Token | None:
        """Leave out the current token if the next one fits here; returns that."""
        if not self._expected(state) >> self.tokens.ahead(2).kind & 1:
            return None
        self._report_unwanted(state)
        skip.consume()
        self._end_recovery()
        return self.tokens.ahead()

    def _invent(self, kind: int, token: Token) -> Token:
        if token.kind == EOF and self.tokens.index:
            token = self.tokens.tokens[self.tokens.index - 1]
        return Token(kind, f"<missing {NAMES[kind]}>", token.start, token.start)


class _Skipper:
    """Consumes tokens during one recovery, up to a limit."""

    __slots__ = ("_count", "_tokens")

    def __init__(self, tokens: TokenStream, unlimited: bool = False) -> None:
        self._tokens = tokens
        self._count = -(10**9) if unlimited else 0

    def consume(self) -> None:
        if self._count >= _MAX_SKIPPED:
            raise AbortError(f"error recovery token lookahead limit exceeded: {_MAX_SKIPPED}")
        self._count += 1
        self._tokens.consume()

    def to(self, kinds: int) -> None:
        while True:
            kind = self._tokens.ahead().kind
            if kind == EOF or kinds >> kind & 1:
                return
            self.consume()


def _quote(text: str) -> str:
    return "'" + text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r") + "'"


def _describe(kinds: int) -> str:
    names = [name for kind, name in enumerate(NAMES) if kinds >> kind & 1]
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


# The places in the rules of CEL's grammar, by rule and what can come there; errors of syntax name what was
# expected.
# Places are compared by identity: two may expect the same.

LITERALS = mask(MINUS, TRUE, FALSE, NULL, FLOAT, INT, UINT, STRING, BYTES)
PRIMARY = LITERALS | mask(LBRACKET, LBRACE, LPAREN, DOT, IDENTIFIER)
EXPRESSION = PRIMARY | mask(EXCLAM)
OPTIONAL = EXPRESSION | mask(QUESTION)
NAME = mask(IDENTIFIER, ESCAPED_IDENTIFIER)
OPTIONAL_NAME = NAME | mask(QUESTION)
RELATIONS = mask(EQUALS, NOT_EQUALS, IN, LESS, LESS_EQUALS, GREATER_EQUALS, GREATER)
PRODUCTS = mask(STAR, DIVIDE, PERCENT)
SUMS = mask(PLUS, MINUS)
POSTFIX = mask(DOT, LBRACKET)


START_END, START_DONE = State(mask(EOF)), State(END)
CONDITION_MARK, CONDITION_TRUE = State(mask(QUESTION)), State(EXPRESSION)
CONDITION_COLON, CONDITION_FALSE = State(mask(COLON)), State(EXPRESSION)
OR_OPERATOR, AND_OPERATOR = State(mask(LOGICAL_OR)), State(mask(LOGICAL_AND))
OPERAND = State(EXPRESSION)
RELATION_OPERATOR, CALC_OPERATOR = State(RELATIONS), State(PRODUCTS | SUMS)
UNARY_START = State(EXPRESSION)
NOT_FIRST, NOT_NEXT = State(mask(EXCLAM)), State(mask(EXCLAM) | PRIMARY)
NEGATE_FIRST, NEGATE_NEXT = State(mask(MINUS)), State(PRIMARY)
MEMBER_STEP = State(POSTFIX)
SELECT_DOT, SELECT_NAME = State(mask(DOT)), State(OPTIONAL_NAME)
SELECT_MARK, SELECT_FIELD = State(mask(QUESTION)), State(NAME)
CALL_DOT, CALL_NAME, CALL_OPEN = State(mask(DOT)), State(mask(IDENTIFIER)), State(mask(LPAREN))
CALL_ARGUMENTS, CALL_CLOSE = State(EXPRESSION | mask(RPAREN)), State(mask(RPAREN))
INDEX_OPEN, INDEX_START = State(mask(LBRACKET)), State(OPTIONAL)
INDEX_MARK, INDEX_VALUE, INDEX_CLOSE = (State(mask(QUESTION)), State(EXPRESSION), State(mask(RBRACKET)))
MEMBER_END = State(POSTFIX | END)
PRIMARY_START, PRIMARY_END = State(PRIMARY), State(END)
IDENT_DOT, IDENT_NAME = State(mask(DOT)), State(mask(IDENTIFIER))
FUNCTION_OPEN = State(mask(LPAREN))
FUNCTION_ARGUMENTS, FUNCTION_CLOSE = State(EXPRESSION | mask(RPAREN)), State(mask(RPAREN))
NESTED_OPEN, NESTED_VALUE, NESTED_CLOSE = State(mask(LPAREN)), State(EXPRESSION), State(mask(RPAREN))
LIST_OPEN, LIST_START = State(mask(LBRACKET)), State(OPTIONAL | mask(COMMA, RBRACKET))
LIST_TAIL, LIST_COMMA, LIST_CLOSE = (State(mask(COMMA, RBRACKET)), State(mask(COMMA)), State(mask(RBRACKET)))
MAP_OPEN, MAP_START = State(mask(LBRACE)), State(OPTIONAL | mask(COMMA, RBRACE))
MAP_TAIL, MAP_COMMA, MAP_CLOSE = State(mask(COMMA, RBRACE)), State(mask(COMMA)), State(mask(RBRACE))
MESSAGE_DOT, MESSAGE_NAME, MESSAGE_OPEN = (State(mask(DOT)), State(mask(IDENTIFIER)), State(mask(LBRACE)))
MESSAGE_START = State(OPTIONAL_NAME | mask(COMMA, RBRACE))
MESSAGE_TAIL, MESSAGE_COMMA = State(mask(COMMA, RBRACE)), State(mask(COMMA))
MESSAGE_CLOSE = State(mask(RBRACE))
ITEM_COMMA = State(mask(COMMA))
ENTRY_COLON, NEXT_ENTRY_COLON, ENTRY_VALUE = State(mask(COLON)), State(mask(COLON)), State(EXPRESSION)
FIELD_COLON, NEXT_FIELD_COLON, FIELD_VALUE = State(mask(COLON)), State(mask(COLON)), State(EXPRESSION)
FIELD_START, FIELD_MARK = State(OPTIONAL_NAME), State(mask(QUESTION))
OPTION_START, OPTION_MARK, OPTION_VALUE = State(OPTIONAL), State(mask(QUESTION)), State(EXPRESSION)
NAME_START, NAME_TOKEN = State(NAME), State(NAME)
LITERAL_START, LITERAL_SIGN, LITERAL_TOKEN = State(LITERALS), State(mask(MINUS)), State(LITERALS)
