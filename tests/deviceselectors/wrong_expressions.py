"""Random CEL expressions with mistakes: broken syntax, and types, names and literals that do not go together."""

from __future__ import annotations

import random

_TOKENS = (
    "==", "!=", " in ", "<", "<=", ">=", "&&", "||", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":", "+", "*",
    "/", "%", "true", "false", "null", "1", "1.5", "2u", '"s"', "'x'", 'b"y"', "name", "`a b`", "if", "x.y", "a.b(", ".f(",
    "0x", "1e", '"', "'", "`", "\\", "$", "&", "|", "=", " ", "\n", "\t", "\r", "é", "😀", "//", '"""', "[?", ".?", "has(",
    ".all(x,", ".map(", "cel.bind(x,1,", 'r"\\"', "google.protobuf.Duration{", "-1", "--", "!!", "x?y:z",
)  # fmt: skip
_NAMES = (
    "device", "x", "int", "string", "bool", "list", "map", "type", "uint", "double", "bytes", "dyn", "cel", "optional",
    "google", "google.protobuf.Duration", "google.protobuf.Timestamp", "google.protobuf.Struct", "google.protobuf.Value",
    "google.protobuf.ListValue", "google.protobuf.Int64Value", "google.protobuf.Any", "google.protobuf.Empty",
    "google.protobuf.NullValue", "google.protobuf.NullValue.NULL_VALUE", "net.IP", "kubernetes.DRADevice",
    "kubernetes.Quantity", "optional_type", "duration", "timestamp", "null_type", "lists", "math", "foo", "__result__",
)  # fmt: skip
_FIELDS = (
    "seconds", "nanos", "value", "fields", "values", "string_value", "list_value", "driver", "attributes", "foo", "`a b`",
)  # fmt: skip
_LEAVES = (
    "1", '"a"', "x", "true", "[1]", '{"a": 1}', "device.driver", "1u", "dyn(1)", "null", "optional.none()", "[]", "{}",
    'duration("1s")', "1.5", 'device.attributes["d"].a', 'device.capacity["d"].m', "device.allowMultipleAllocations",
)  # fmt: skip
_FUNCTIONS = (
    "duration", "timestamp", "matches", "int", "string", "bool", "uint", "double", "bytes", "type", "dyn", "quantity",
    "semver", "ip", "cidr", "url", "isIP", "size", "optional.of", "lists.range", "has", "sets.contains", "format.uuid",
)  # fmt: skip
_METHODS = (
    "size", "orValue", "value", "hasValue", "or", "first", "join", "split", "replace", "includes", "indexOf", "contains",
    "distinct", "flatten", "slice", "reverse", "sort", "sum", "max", "unwrapOpt", "getHost", "family", "containsIP",
    "compareTo", "isLessThan", "getSeconds", "charAt", "substring", "find", "findAll", "startsWith", "matches",
)  # fmt: skip
_LITERAL_ARGUMENTS = (
    '"1h"', '"1x"', '""', '"2024-01-01T00:00:00Z"', '"2024-13-01"', "5", "99999999999999", '"-5s"', '"a("', '"[a"',
    '"(?P<n>a)"', '"\\\\d+"', '"a{2000}"', '"(?=a)"', "null",
)  # fmt: skip
_CLAUSES = ("%s", "%d", "%f", "%.2f", "%e", "%x", "%X", "%b", "%o", "%%", "a", "%.", "%.3", "%q", "%", "é")


class WrongExpressions:
    """Makes them from a source of randomness."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw

    def broken(self, expression: str) -> str:
        """An expression with some characters or tokens added, left out, replaced or doubled."""
        draw = self._draw
        for _ in range(draw.choice((1, 1, 2, 3, 5))):
            at = draw.randrange(len(expression) + 1)
            end = min(len(expression), at + draw.choice((1, 1, 2, 3, 6, 12)))
            kind = draw.randrange(4)
            if kind == 0:
                expression = expression[:at] + draw.choice(_TOKENS) + expression[at:]
            elif kind == 1:
                expression = expression[:at] + expression[end:]
            elif kind == 2:
                expression = expression[:at] + draw.choice(_TOKENS) + expression[end:]
            else:
                expression = expression[:end] + expression[at:]
        return expression

    def tokens(self) -> str:
        """Tokens in no order."""
        count = self._draw.choice((3, 5, 8, 12, 20, 40, 100))
        return "".join(self._draw.choice(_TOKENS) + self._draw.choice(("", " ")) for _ in range(count))

    def ill_typed(self, depth: int) -> str:
        """An expression that parses mostly, of parts that rarely fit."""
        if depth <= 0:
            return self._draw.choice(_LEAVES)
        return self._draw.choice(_PARTS)(self, depth - 1)

    def _several(self, depth: int, most: int) -> str:
        return ", ".join(self.ill_typed(depth) for _ in range(self._draw.randrange(most + 1)))

    def _name(self, depth: int) -> str:
        return self._draw.choice(("", "", "", ".")) + self._draw.choice(_NAMES)

    def _message(self, depth: int) -> str:
        fields = [
            f"{self._draw.choice(('', '', '?'))}{self._draw.choice(_FIELDS)}: {self.ill_typed(depth)}"
            for _ in range(self._draw.randrange(3))
        ]
        return f"{self._name(0)}{{{', '.join(fields)}}}"

    def _list(self, depth: int) -> str:
        elements = [
            self._draw.choice(("", "", "?")) + self.ill_typed(depth) for _ in range(self._draw.randrange(4))
        ]
        return f"[{', '.join(elements)}]"

    def _map(self, depth: int) -> str:
        entries = [
            f"{self._draw.choice(('', '', '?'))}{self.ill_typed(depth - 1)}: {self.ill_typed(depth)}"
            for _ in range(self._draw.randrange(3))
        ]
        return f"{{{', '.join(entries)}}}"

    def _format(self, depth: int) -> str:
        clauses = "".join(self._draw.choice(_CLAUSES) for _ in range(self._draw.randrange(5)))
        return f'"{clauses}".format({self._list(depth)})'

    def _call(self, depth: int) -> str:
        return f"{self._draw.choice(_FUNCTIONS)}({self._several(depth, 2)})"

    def _literal_call(self, depth: int) -> str:
        function = self._draw.choice(("duration", "timestamp", '"a".matches', "int"))
        return f"{function}({self._draw.choice(_LITERAL_ARGUMENTS)})"

    def _method(self, depth: int) -> str:
        return f"{self.ill_typed(depth)}.{self._draw.choice(_METHODS)}({self._several(depth, 2)})"

    def _select(self, depth: int) -> str:
        return self.ill_typed(depth) + self._draw.choice((".", ".?")) + self._draw.choice(_FIELDS)

    def _index(self, depth: int) -> str:
        return f"{self.ill_typed(depth)}[{self._draw.choice(('', '?'))}{self.ill_typed(depth)}]"

    def _bind(self, depth: int) -> str:
        name = self._draw.choice(("x", "google", "int", "device", "1", "x.y"))
        return f"cel.bind({name}, {self.ill_typed(depth)}, {self.ill_typed(depth)})"

    def _loop(self, depth: int) -> str:
        macro = self._draw.choice(
            ("all", "exists", "exists_one", "map", "filter", "sortBy", "optMap", "optFlatMap")
        )
        name = self._draw.choice(("x", "int", "device", "optional", "x.y", "__result__"))
        return f"{self.ill_typed(depth)}.{macro}({name}, {self.ill_typed(depth)})"

    def _loop_with_two_variables(self, depth: int) -> str:
        macros = ("all", "exists", "existsOne", "map", "transformList", "transformMap", "transformMapEntry")
        names = f"{self._draw.choice(('x', 'y'))}, {self._draw.choice(('x', 'v', 'int'))}"
        more = self._draw.choice(("", f", {self.ill_typed(depth)}"))
        macro = self._draw.choice(macros)
        return f"{self.ill_typed(depth)}.{macro}({names}, {self.ill_typed(depth)}{more})"

    def _operator(self, depth: int) -> str:
        operator = self._draw.choice(("+", "-", "*", "/", "%", "==", "!=", "<", ">=", "&&", "||", "in"))
        return f"({self.ill_typed(depth)} {operator} {self.ill_typed(depth)})"

    def _sign(self, depth: int) -> str:
        return f"{self._draw.choice(('!', '-', '!!', '--'))}({self.ill_typed(depth)})"

    def _condition(self, depth: int) -> str:
        return f"({self.ill_typed(depth)} ? {self.ill_typed(depth)} : {self.ill_typed(depth)})"


_PARTS = (
    WrongExpressions._name, WrongExpressions._message, WrongExpressions._list, WrongExpressions._map,
    WrongExpressions._format, WrongExpressions._call, WrongExpressions._literal_call, WrongExpressions._method,
    WrongExpressions._select, WrongExpressions._index, WrongExpressions._bind, WrongExpressions._loop,
    WrongExpressions._loop_with_two_variables, WrongExpressions._operator, WrongExpressions._sign,
    WrongExpressions._condition,
)  # fmt: skip
