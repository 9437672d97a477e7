"""Texts made to be taken for Python, and expressions with such a text in every place where one can be."""

from __future__ import annotations

import json
import random
from typing import Any

#: What Python looks like, what the code that was once generated for expressions looked like, and what ends, begins or
#: hides a literal.
FRAGMENTS = (
    "d.attributes['gpu.example.com']['model']", "d.attributes[", "d.attributes['", "']['", "['gpu.example.com']", "d.capacity",
    ".get(", ", K1)", "d.driver", "d.as_map()", "t1", "(t1 := ", ").__class__ is K1", ".__class__", ".__class__.__mro__[1]",
    "K1", "K2(", "K99", "__builtins__", "__import__('os').system('id')", "__import__", "exec(", "eval(", "compile(", "open('/etc/passwd')",
    "return ", "raise ", "lambda: ", "global K1", "del d", "import os", "if (d.driver != 'Z') else ", "'model' if ", " else ", " and ", " or ",
    "not ", " in ", " is ", "def program(d):", "c = 0", "try: ", "except K1 as e: ", "program", "f1(d, c)", "b1[0]", "v1", "a1", "c += 1",
    "'", '"', "'''", '"""', "\\", "\\\\", "\\'", '\\"', "\\n", "\\x27", "\\N{QUOTATION MARK}", "\n", "\r", "\r\n", "\t", "\0", "\x0b", "\x0c",
    "\x1b[31m", "\x85", "\u2028", "\u2029", "\ufeff", "\u200b", "\u202e", "#", ";", ":", ",", "(", ")", "[", "]", "{", "}", "][", "\"]", "']",
    "{0}", "{1}", "{f}", "{{0}}", "{}", "%s", "%d", "%(x)s", "{0.__class__}", "${x}", "`", "f'{d}'", "b'x'", "r'", "u'", "...", "=", "==", ":=", "->",
    "\uff07", "\uff02", "\u2019", "\uff44\uff0eattributes", "\u212a1", "\uff2b1", "\U0001d40a1",
    "__\uff49mport__", "\ufb01", "\u0131", "\u00e9", "e\u0301", "\u65e5\u672c", "\U0001f600", "\U0010ffff",
    "model", "gpu.example.com", "x", "X", "Z", "zz", "", " ", "0", "1", "-1", "1Gi", "1.2.3", "10.0.0.1", "co_consts", "<cel>",
)  # fmt: skip

#: Names that variables of expressions may have, names of code once generated, or Python's.
NAMES = (
    "d", "c", "e", "t1", "t2", "v1", "a1", "b1", "f1", "K1", "K2", "program", "__builtins__", "__import__", "__class__", "panic",
    "lambda", "def", "None", "True", "type", "len", "exec", "open", "class", "print", "self", "x",
)  # fmt: skip

_PATTERNS = (
    "^a",
    "x$",
    ".*",
    "[0-9]+",
    "a{0}",
    "a{0,1}",
    "{1}",
    "(?i)K1",
    "\\'",
    "d\\.attributes\\[",
    "[\"']",
    "\\x27",
    "#",
    "(t1)",
)
_DOMAIN = "gpu.example.com"

# Expressions with gaps, which `_Gaps` fills: {one} and {name} the same wherever they stand, all others anew each time.

_DOMAINS = (
    *["device.attributes[{own}]"] * 6,
    *["device.attributes[{literal}]"] * 3,
    "device.capacity[{own}]",
)

_ENTRIES = (
    "{domain}.model",
    "{domain}[{literal}]",
    "{domain}[device.driver != {literal} ? {literal} : {literal}]",
    "{domain}.?model.orValue({literal})",
    "{domain}[?{literal}].orValue({literal})",
    "device.attributes[?{literal}][?{literal}].orValue({literal})",
)

_TEXTS = (
    "({text} + {literal})",
    "{text}.replace({literal}, {literal})",
    "{text}.split({literal}).join({literal})",
    "string({text})",
    "{text}.lowerAscii()",
    "({condition} ? {text} : {literal})",
    "{{{literal}: {text}, {literal}: {literal}}}[{literal}]",
    "{{1: {text}, true: {literal}}}[1]",
    "[{text}, {literal}, {literal}][{digit}]",
    "[{literal}, ?{domain}[?{literal}]][0]",
    "cel.bind({name}, {text}, {name} + {name})",
    "optional.of({text}).optMap({name}, {name} + {literal}).orValue({literal})",
    "google.protobuf.StringValue{{value: {text}}}",
    "{literal}.format([{text}])",
    "strings.quote({text})",
    "[{text}].map({name}, {name} + {literal})[0]",
    "string(bytes({text}))",
    "string(b{literal})",
)

_CONDITIONS = (
    "{text} {comparison} {literal}",
    "{text} == {literal}",
    "{text} == {text}",
    "{text} in [{literal}, {literal}]",
    "{text} in [{literal}, 1, true]",
    "{literal} in {{{literal}: {text}}}",
    "{literal} in {domain}",
    "has({domain}.model) && {text} != {literal}",
    "{domain}[?{literal}].hasValue()",
    "{text}.startsWith({literal})",
    "{text}.endsWith({text})",
    "{text}.contains({literal})",
    "{text}.matches({pattern})",
    "{text}.find({pattern}) == {literal}",
    "quantity({literal}).isGreaterThan(quantity('1')) || {text} == {literal}",
    "device.capacity[{own}].memory.compareTo(quantity({literal})) >= 0 || {text} == {literal}",
    "device.capacity[{own}][{literal}].compareTo(quantity('1Gi')) >= 0",
    "isQuantity({text}) || isSemver({literal}) || isURL({text}) || ip.isCanonical({literal})",
    "semver({text}).isLessThan(semver({literal}))",
    "url({text}).getHost() == {literal}",
    "ip({text}) == ip({literal})",
    "duration({text}) > duration({literal})",
    "timestamp('2024-01-01T00:00:00Z').getHours({text}) == 0",
    "format.dns1123Label().validate({text}).hasValue()",
    "format.named({text}).hasValue()",
    "[{text}, {one}].exists({name}, {name} == {literal})",
    "[{text}, {one}].all({name}, {name}.size() < 3 || {name} in [{one}])",
    "{domain}.exists({name}, {name} == {literal})",
    "{{{literal}: 1}}.map({name}, {name}) == [{text}]",
    "[[{text}], [{one}]].exists({name}, {name} == [{literal}])",
    "cel.bind({name}, {text}, {name} == {one} || {name}.size() > 3)",
    "int({text}) < 5 || uint({literal}) == 1u || double({text}) < 1.0",
    "bool({text}) || bytes({literal}) == b{literal}",
    "dyn({text}) == dyn({literal})",
    "type({text}) == type({literal})",
    "device.driver == {literal}",
    "{text}.size() > {digit}",
    "!({condition})",
    "({condition}) && ({condition})",
    "({condition}) || ({condition})",
)


class HostileCase:
    """One expression, and a device whose names and values are of the same texts, so that look-ups find something."""

    def __init__(self, pick: random.Random) -> None:
        self.pick = pick
        self.texts = [_text(pick) for _ in range(3)] + [pick.choice(FRAGMENTS), "model"]
        self.device = self._device(pick.choice((_DOMAIN, _DOMAIN, self.text())))
        self.expression = _Gaps(self, pick.randrange(3)).filled(_CONDITIONS)

    def text(self) -> str:
        return self.pick.choice(self.texts)

    def _device(self, driver: str) -> dict[str, Any]:
        values = (
            {"string": self.text()},
            {"string": self.text()},
            {"int": self.pick.choice((0, 1, 5))},
            {"bool": self.pick.random() < 0.5},
            {"version": "1.2.3"},
            {"strings": [self.text(), "x"]},
        )
        names = [self._name() for _ in range(3)]
        return {
            "driver": driver,
            "attributes": {"model": {"string": self.text()}, **{n: self.pick.choice(values) for n in names}},
            "capacity": {self._name(): {"value": "1Gi"}, "memory": {"value": "5"}},
        }

    def _name(self) -> str:
        name = self.text()
        return f"{self.text()}/{name}" if self.pick.random() < 0.3 else name


class _Gaps(dict[str, str]):
    """What stands in the gaps of a template."""

    def __init__(self, case: HostileCase, depth: int) -> None:
        super().__init__()
        self._case = case
        self._pick = case.pick
        self._depth = depth

    def filled(self, templates: tuple[str, ...]) -> str:
        return self._pick.choice(templates).format_map(self)

    def __missing__(self, gap: str) -> str:
        if gap in ("one", "name"):
            self[gap] = self._pick.choice(NAMES) if gap == "name" else self._literal()
            return self[gap]
        return str(getattr(self, f"_{gap}")())

    def _literal(self) -> str:
        return quoted(self._pick, self._case.text())

    def _own(self) -> str:
        return quoted(self._pick, self._case.device["driver"])

    def _pattern(self) -> str:
        if self._pick.random() < 0.3:
            return self._literal()
        return quoted(self._pick, self._pick.choice(_PATTERNS))

    def _comparison(self) -> str:
        return self._pick.choice(("==", "!=", "<", "<=", ">", ">="))

    def _digit(self) -> str:
        return str(self._pick.randrange(4))

    def _domain(self) -> str:
        return self.filled(_DOMAINS)

    def _inner(self) -> _Gaps:
        return _Gaps(self._case, self._depth - 1)

    def _text(self) -> str:
        if self._depth > 0:
            return self._inner().filled(_TEXTS)
        return self._literal() if self._pick.random() < 0.3 else self.filled(_ENTRIES)

    def _condition(self) -> str:
        if self._depth > 0:
            return self._inner().filled(_CONDITIONS)
        return f"{self._text()} == {self._literal()}"


def _text(pick: random.Random) -> str:
    return "".join([pick.choice(FRAGMENTS) for _ in range(pick.choice((1, 1, 2, 2, 3, 5)))])


def quoted(pick: random.Random, text: str) -> str:
    """A literal of CEL with the text, in one of the ways to write it."""
    way = pick.randrange(6)
    if way == 0 and "'" not in text and "\\" not in text and text.isprintable():
        return f"'{text}'"
    if way == 1 and '"' not in text and text.isprintable():
        return f'r"{text}"'
    if way == 2 and '"""' not in text and "\\" not in text and not text.endswith('"') and "\r" not in text:
        return f'"""{text}"""'
    if way == 3:
        return "'" + "".join([f"\\U{ord(character):08x}" for character in text]) + "'"
    return json.dumps(text, ensure_ascii=way == 4 and max(text, default="") <= "\uffff")
