"""Random CEL expressions and devices, mostly well-typed, over everything that DRA's environment declares."""

from __future__ import annotations

import json
import random
from typing import Any

DOMAINS = ("gpu.example.com", "nic.example.com", "resource.kubernetes.io")
IDENTIFIERS = ("model", "index", "version", "ecc", "features", "speeds", "address", "nope")

TEXTS = (
    "", "a", "abc", "A100-SXM4", "gpu.example.com", "1.2.3", "v1.2", "10.0.0.1", "fe80::1", "10.0.0.0/8", "80Gi", "1h30m",
    "2024-02-29T12:30:45Z", "é", "日本", "😀x", "a,b,,c", "https://u:p@h.example:80/p%20q?x=1&y=a+b&x=2#f", "/only/path", "true",
    "-12", "3.5e2", " pad\t", "%d%%", "model", "a-b", "not-an-ip", "00", "01.2.3", "1.2.3-rc.1+b", "0x1F", "12.5Mi", "m",
)  # fmt: skip
INTS = (0, 1, -1, 2, 3, 5, 7, 42, 255, -100, 1024, 2**31, 2**53 + 1, 2**63 - 1, -(2**63))
DOUBLES = ("0.0", "1.0", "-1.5", "2.5", "1e21", "1e-7", "3.14159", "-0.0", "1e308", "100.0", "0.1")
DURATIONS = ("0", "1s", "90m", "1h30m", "-2.5s", "100ms", "1us", "2562047h47m16s")
TIMESTAMPS = (
    "2024-02-29T12:30:45Z",
    "1970-01-01T00:00:00Z",
    "2023-12-31T23:59:59.123456789+02:00",
    "0001-01-01T00:00:00Z",
)
PATTERNS = ("^a", "a.*", "[0-9]+", "x$", "", "(a|b)+", "^gpu", "\\\\d", ".", "b*", "^$", "[^a-c]")
ZONES = ("UTC", "America/New_York", "+02:00", "-05:30", "Asia/Kolkata", "Nowhere/At")
FORMATS = ("dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix", "labelValue", "uri", "uuid",
           "byte", "date", "datetime")  # fmt: skip

SCALARS = ("bool", "int", "uint", "double", "string", "bytes", "duration", "timestamp")
OPAQUE = ("semver", "quantity", "ip", "cidr", "url")


class Expressions:
    """Writes expressions; `depth` bounds their nesting."""

    def __init__(self, source: random.Random) -> None:
        self.random = source
        self.variables: list[tuple[str, str]] = []

    def expression(self, kind: str = "bool", depth: int = 4) -> str:
        self.variables = []
        return self.make(kind, depth)

    def pick(self, options: Any) -> Any:
        return self.random.choice(options)

    def make(self, kind: str, depth: int) -> str:
        r = self.random.random()
        names = [name for name, k in self.variables if k == kind]
        if names and r < 0.35:
            return str(self.pick(names))
        if r < 0.04:
            return f"dyn({self.make(self.pick(SCALARS), 0)})"
        if depth <= 0 or r < 0.12:
            return self.leaf(kind)
        if r < 0.2:
            return self.generic(kind, depth - 1)
        if kind.startswith("list:"):
            return self.make_list(kind[5:], depth - 1)
        if kind.startswith("optional:"):
            return self.make_optional(kind[9:], depth - 1)
        return str(getattr(self, f"make_{kind}")(depth - 1))

    def generic(self, kind: str, depth: int) -> str:
        choice = self.random.randrange(8)
        if choice < 2:
            return f"({self.make('bool', depth)} ? {self.make(kind, depth)} : {self.make(kind, depth)})"
        if choice == 2:
            bound = self.pick((*SCALARS, "list:int", "list:string", "optional:string"))
            value = self.make(bound, depth)
            name = f"b{len(self.variables)}"
            return f"cel.bind({name}, {value}, {self.with_variable(name, bound, kind, depth)})"
        if choice == 3:
            return f"{self.make('optional:' + kind, depth)}.orValue({self.make(kind, depth)})"
        if choice == 4:
            return f"{self.make('optional:' + kind, depth)}.value()"
        if choice == 5:
            return f"{self.make('list:' + kind, depth)}[{self.make('int', 0)}]"
        if choice == 6:
            key = self.pick(('"a"', '"b"', '"c"'))
            return f'{{"a": {self.make(kind, depth)}, "b": {self.make(kind, 0)}}}[{key}]'
        return f"[{self.make(kind, depth)}][0]"

    def with_variable(self, name: str, bound: str, kind: str, depth: int) -> str:
        self.variables.append((name, bound))
        try:
            return self.make(kind, depth)
        finally:
            self.variables.pop()

    def leaf(self, kind: str) -> str:
        if kind.startswith("list:"):
            count = self.random.randrange(4)
            return f"[{', '.join([self.leaf(kind[5:]) for _ in range(count)])}]"
        if kind.startswith("optional:"):
            return self.pick((f"optional.of({self.leaf(kind[9:])})", "optional.none()"))  # type: ignore[no-any-return]
        return str(getattr(self, f"leaf_{kind}")())

    # -------------------------------------------------------- leaves

    def leaf_bool(self) -> str:
        return str(self.pick(("true", "false", "device.allowMultipleAllocations", self.has())))

    def leaf_int(self) -> str:
        return str(self.pick(INTS))

    def leaf_uint(self) -> str:
        return f"{self.pick((0, 1, 2, 7, 255, 2**63, 2**64 - 1))}u"

    def leaf_double(self) -> str:
        return str(self.pick(DOUBLES))

    def leaf_string(self) -> str:
        if self.random.random() < 0.15:
            return "device.driver"
        return json.dumps(self.pick(TEXTS), ensure_ascii=False)

    def leaf_bytes(self) -> str:
        return str(self.pick(('b""', 'b"abc"', 'b"\\xff"', 'b"é"')))

    def leaf_duration(self) -> str:
        return f'duration("{self.pick(DURATIONS)}")'

    def leaf_timestamp(self) -> str:
        return f'timestamp("{self.pick(TIMESTAMPS)}")'

    def leaf_semver(self) -> str:
        return str(
            self.pick(
                (
                    'semver("1.2.3")',
                    'semver("2.0.0-rc.1")',
                    'semver("v1.2", true)',
                    f"semver({self.leaf_string()})",
                )
            )
        )

    def leaf_quantity(self) -> str:
        return str(
            self.pick(
                (
                    'quantity("80Gi")',
                    'quantity("1500m")',
                    'quantity("1k")',
                    self.capacity(),
                    f"quantity({self.leaf_string()})",
                )
            )
        )

    def leaf_ip(self) -> str:
        return str(self.pick(('ip("10.0.0.1")', 'ip("fe80::1")', f"ip({self.leaf_string()})")))

    def leaf_cidr(self) -> str:
        return str(self.pick(('cidr("10.0.0.0/8")', 'cidr("fe80::/10")', f"cidr({self.leaf_string()})")))

    def leaf_url(self) -> str:
        return str(
            self.pick((f"url({json.dumps(TEXTS[17])})", 'url("/only/path")', f"url({self.leaf_string()})"))
        )

    # -------------------------------------------------------- devices

    def attribute(self) -> str:
        domain, name = self.pick(DOMAINS), self.pick(IDENTIFIERS)
        return str(
            self.pick(
                (
                    f'device.attributes["{domain}"].{name}',
                    f'device.attributes["{domain}"]["{name}"]',
                    f'device.attributes["gpu.example.com"].{name}',
                    f'device.attributes["gpu.example.com"].?{name}.orValue({self.leaf(self.pick(SCALARS))})',
                    f'device.attributes[?"{domain}"].?{name}.value()',
                )
            )
        )

    def capacity(self) -> str:
        return f'device.capacity["gpu.example.com"].{self.pick(("memory", "cores", "nope"))}'

    def has(self) -> str:
        return f'has(device.attributes["{self.pick(DOMAINS)}"].{self.pick(IDENTIFIERS)})'

    # -------------------------------------------------------- bool

    def make_bool(self, depth: int) -> str:
        choice = self.random.randrange(24)
        if choice < 4:
            return f"({self.make('bool', depth)} {self.pick(('&&', '||'))} {self.make('bool', depth)})"
        if choice == 4:
            return f"!{self.make('bool', depth)}"
        if choice < 7:
            kind = self.pick((*SCALARS, *OPAQUE, "list:int", "list:string", "optional:int"))
            return f"({self.make(kind, depth)} {self.pick(('==', '!='))} {self.make(kind, depth)})"
        if choice < 9:
            kind = self.pick(SCALARS)
            return f"({self.make(kind, depth)} {self.pick(('<', '<=', '>', '>='))} {self.make(kind, depth)})"
        if choice < 12:
            return self.on_attribute(depth)
        if choice == 12:
            kind = self.pick(("int", "string", "uint", "double", "bool"))
            return f"({self.make(kind, depth)} in {self.make('list:' + kind, depth)})"
        if choice == 13:
            kind = self.pick(("semver", "quantity"))
            return f"{self.make(kind, depth)}.{self.pick(('isLessThan', 'isGreaterThan'))}({self.make(kind, depth)})"
        if choice == 14:
            function = self.pick(("contains", "startsWith", "endsWith"))
            return f"{self.make('string', depth)}.{function}({self.make('string', depth)})"
        if choice == 15:
            return f"{self.make('string', depth)}.matches({self.pattern()})"
        if choice < 19:
            return self.quantifier(depth)
        if choice == 19:
            function = self.pick(("isIP", "isCIDR", "isURL", "isQuantity", "isSemver", "ip.isCanonical"))
            return f"{function}({self.make('string', depth)})"
        if choice == 20:
            function = self.pick(("contains", "equivalent", "intersects"))
            kind = self.pick(("list:int", "list:string"))
            return f"sets.{function}({self.make(kind, depth)}, {self.make(kind, depth)})"
        if choice == 21:
            kind = self.pick(("ip", "cidr"))
            if kind == "ip":
                function = self.pick(
                    (
                        "isUnspecified",
                        "isLoopback",
                        "isLinkLocalMulticast",
                        "isLinkLocalUnicast",
                        "isGlobalUnicast",
                    )
                )
                return f"{self.make('ip', depth)}.{function}()"
            other = self.pick(("containsIP", "containsCIDR"))
            argument = self.pick(("string", "ip" if other == "containsIP" else "cidr"))
            return f"{self.make('cidr', depth)}.{other}({self.make(argument, depth)})"
        if choice == 22:
            return f"format.{self.pick(FORMATS)}().validate({self.make('string', depth)}).hasValue()"
        return self.pick(  # type: ignore[no-any-return]
            (
                f"{self.make('list:int', depth)}.isSorted()",
                f"{self.make('optional:string', depth)}.hasValue()",
                f"bool({self.make('string', depth)})",
                f"(type({self.attribute()}) == {self.pick(('int', 'string', 'list', 'bool'))})",
                f"{self.make('quantity', depth)}.isInteger()",
                f'("{self.pick(DOMAINS)}" in device.attributes)',
                f'("{self.pick(IDENTIFIERS)}" in device.attributes["gpu.example.com"])',
                f"({self.make('list:string', depth)}.includes({self.make('string', depth)}))",
            )
        )

    def on_attribute(self, depth: int) -> str:
        attribute = self.attribute()
        kind = self.pick(SCALARS)
        return str(
            self.pick(
                (
                    f"({attribute} == {self.make(kind, depth)})",
                    f"({attribute} != {self.make(kind, 0)})",
                    f"({self.make(kind, 0)} == {attribute})",
                    f"({attribute} {self.pick(('<', '>='))} {self.make(kind, depth)})",
                    f"({attribute} in {self.make('list:' + self.pick(('int', 'string')), depth)})",
                    f"({self.make(kind, 0)} in {attribute})",
                    f"{attribute}.startsWith({self.make('string', 0)})",
                    f"{attribute}.matches({self.pattern()})",
                    f"{attribute}.isGreaterThan({self.make(self.pick(('semver', 'quantity')), depth)})",
                    f"{attribute}.exists(x, x == {self.make(self.pick(('int', 'string')), 0)})",
                    f"{attribute}.all(x, x != {self.make(self.pick(('int', 'string')), 0)})",
                    f"{attribute}.includes({self.make(self.pick(('int', 'string')), 0)})",
                    f"(size({attribute}) > {self.make('int', 0)})",
                    f"({attribute} + {self.make(kind, 0)} == {self.make(kind, 0)})",
                    f"({attribute}[0] == {self.make(kind, 0)})",
                    f"({attribute}.{self.pick(('x', 'size'))} == 1)",
                    attribute,
                )
            )
        )

    def pattern(self) -> str:
        if self.random.random() < 0.15:
            return self.make("string", 1)
        return f'"{self.pick(PATTERNS)}"'

    def quantifier(self, depth: int) -> str:
        macro = self.pick(("all", "exists", "exists_one"))
        name = f"x{len(self.variables)}"
        choice = self.random.randrange(5)
        if choice == 0:
            return f"device.attributes[{json.dumps(self.pick(DOMAINS))}].{macro}({name}, {self.with_variable(name, 'string', 'bool', depth)})"
        if choice == 1:
            kind = self.pick(("int", "string"))
            self.variables.append((name, "int"))
            body = self.with_variable(name + "v", kind, "bool", depth)
            self.variables.pop()
            return f"{self.make('list:' + kind, depth)}.{macro}({name}, {name}v, {body})"
        kind = self.pick(("int", "string", "double"))
        return f"{self.make('list:' + kind, depth)}.{macro}({name}, {self.with_variable(name, kind, 'bool', depth)})"

    # -------------------------------------------------------- other types

    def make_int(self, depth: int) -> str:
        return self.pick(  # type: ignore[no-any-return]
            (
                lambda: f"({self.make('int', depth)} {self.pick('+-*/%')} {self.make('int', depth)})",
                lambda: f"-({self.make('int', depth)})",
                lambda: f"size({self.make(self.pick(('string', 'bytes', 'list:int')), depth)})",
                lambda: (
                    f"int({self.make(self.pick(('string', 'double', 'uint', 'duration', 'timestamp', 'int')), depth)})"
                ),
                lambda: (
                    f"{self.make('string', depth)}.{self.pick(('indexOf', 'lastIndexOf'))}({self.make('string', depth)})"
                ),
                lambda: (
                    f"{self.make('string', depth)}.indexOf({self.make('string', depth)}, {self.make('int', 0)})"
                ),
                lambda: f"{self.make('list:int', depth)}.{self.pick(('sum', 'min', 'max'))}()",
                lambda: f"{self.make('list:string', depth)}.indexOf({self.make('string', 0)})",
                lambda: f"{self.make('semver', depth)}.{self.pick(('major', 'minor', 'patch'))}()",
                lambda: (
                    f"{self.make('quantity', depth)}.{self.pick(('asInteger', 'sign'))}()"
                    if self.random.random() < 0.5
                    else f"sign({self.make('quantity', depth)})"
                ),
                lambda: f"{self.make('quantity', depth)}.compareTo({self.make('quantity', depth)})",
                lambda: f"{self.make('timestamp', depth)}.{self.time_part()}",
                lambda: (
                    f"{self.make('duration', depth)}.{self.pick(('getHours', 'getMinutes', 'getSeconds', 'getMilliseconds'))}()"
                ),
                lambda: f"{self.make('ip', depth)}.family()",
                lambda: f"{self.make('cidr', depth)}.prefixLength()",
                lambda: f"{self.make('list:list:int', depth)}.flatten().sum()",
            )
        )()

    def time_part(self) -> str:
        parts = ("getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getHours", "getMinutes",
                 "getSeconds", "getMilliseconds")  # fmt: skip
        zone = f'"{self.pick(ZONES)}"' if self.random.random() < 0.3 else ""
        return f"{self.pick(parts)}({zone})"

    def make_uint(self, depth: int) -> str:
        if self.random.random() < 0.6:
            return f"({self.make('uint', depth)} {self.pick('+-*/%')} {self.make('uint', depth)})"
        return f"uint({self.make(self.pick(('string', 'double', 'int')), depth)})"

    def make_double(self, depth: int) -> str:
        if self.random.random() < 0.6:
            return f"({self.make('double', depth)} {self.pick('+-*/')} {self.make('double', depth)})"
        return str(
            self.pick(
                (
                    f"double({self.make(self.pick(('string', 'int', 'uint')), depth)})",
                    f"{self.leaf_quantity()}.asApproximateFloat()",
                )
            )
        )

    def make_string(self, depth: int) -> str:
        return self.pick(  # type: ignore[no-any-return]
            (
                lambda: f"({self.make('string', depth)} + {self.make('string', depth)})",
                lambda: f"string({self.make(self.pick((*SCALARS, 'ip', 'cidr')), depth)})",
                lambda: f"{self.make('string', depth)}.{self.pick(('lowerAscii', 'upperAscii', 'trim'))}()",
                lambda: (
                    f"{self.make('string', depth)}.substring({self.make('int', 0)}, {self.make('int', 0)})"
                ),
                lambda: f"{self.make('string', depth)}.substring({self.make('int', 0)})",
                lambda: f"{self.make('string', depth)}.charAt({self.make('int', 0)})",
                lambda: (
                    f"{self.make('string', depth)}.replace({self.make('string', 0)}, {self.make('string', 0)})"
                ),
                lambda: (
                    f"{self.make('string', depth)}.replace({self.make('string', 0)}, {self.make('string', 0)}, {self.make('int', 0)})"
                ),
                lambda: f"{self.make('list:string', depth)}.join({self.make('string', 0)})",
                lambda: f"{self.make('string', depth)}.find({self.pattern()})",
                lambda: f"strings.quote({self.make('string', depth)})",
                lambda: self.format(depth),
                lambda: (
                    f"{self.make('url', depth)}.{self.pick(('getScheme', 'getHost', 'getHostname', 'getPort', 'getEscapedPath'))}()"
                ),
                lambda: f"format.{self.pick(FORMATS)}().validate({self.make('string', depth)}).value()[0]",
                lambda: f"{self.make('url', depth)}.getQuery()[{self.make('string', 0)}][0]",
            )
        )()

    def format(self, depth: int) -> str:
        clauses = []
        arguments = []
        for _ in range(self.random.randrange(1, 3)):
            clause, kinds = self.pick(
                (("%s", (*SCALARS, "list:int", "list:double", "list:string")), ("%d", ("int", "uint")), ("%.2f", ("double",)),
                 ("%e", ("double",)), ("%x", ("int", "string", "bytes")), ("%b", ("int", "bool")), ("%o", ("int", "uint")))
            )  # fmt: skip
            clauses.append(clause)
            arguments.append(self.make(self.pick(kinds), depth))
        return f'"{"|".join(clauses)}".format([{", ".join(arguments)}])'

    def make_bytes(self, depth: int) -> str:
        if self.random.random() < 0.5:
            return f"({self.make('bytes', depth)} + {self.make('bytes', depth)})"
        return f"bytes({self.make('string', depth)})"

    def make_duration(self, depth: int) -> str:
        choice = self.random.randrange(4)
        if choice == 0:
            return f"({self.make('timestamp', depth)} - {self.make('timestamp', depth)})"
        if choice == 1:
            return f"duration({self.make('string', depth)})"
        return f"({self.make('duration', depth)} {self.pick('+-')} {self.make('duration', depth)})"

    def make_timestamp(self, depth: int) -> str:
        choice = self.random.randrange(3)
        if choice == 0:
            return f"timestamp({self.make(self.pick(('string', 'int')), depth)})"
        return f"({self.make('timestamp', depth)} {self.pick('+-')} {self.make('duration', depth)})"

    def make_semver(self, depth: int) -> str:
        if self.random.random() < 0.3:
            return f"semver({self.make('string', depth)}, {self.make('bool', 0)})"
        return self.leaf_semver()

    def make_quantity(self, depth: int) -> str:
        if self.random.random() < 0.5:
            return f"{self.make('quantity', depth)}.{self.pick(('add', 'sub'))}({self.make(self.pick(('quantity', 'int')), depth)})"
        return self.leaf_quantity()

    def make_ip(self, depth: int) -> str:
        return self.pick((f"{self.make('cidr', depth)}.ip()", f"ip({self.make('string', depth)})"))  # type: ignore[no-any-return]

    def make_cidr(self, depth: int) -> str:
        return self.pick((f"{self.make('cidr', depth)}.masked()", f"cidr({self.make('string', depth)})"))  # type: ignore[no-any-return]

    def make_url(self, depth: int) -> str:
        return f"url({self.make('string', depth)})"

    def make_optional(self, kind: str, depth: int) -> str:
        choice = self.random.randrange(7)
        if choice == 0:
            return f"optional.ofNonZeroValue({self.make(kind, depth)})"
        if choice == 1:
            return f"{self.make('list:' + kind, depth)}.{self.pick(('first', 'last'))}()"
        if choice == 2:
            return f"{self.make('list:' + kind, depth)}[?{self.make('int', 0)}]"
        if choice == 3:
            return f"{self.make('optional:' + kind, depth)}.or({self.make('optional:' + kind, depth)})"
        if choice == 4:
            inner = self.pick(("int", "string"))
            name = f"o{len(self.variables)}"
            return f"{self.make('optional:' + inner, depth)}.optMap({name}, {self.with_variable(name, inner, kind, depth)})"
        if choice == 5:
            return f'{{"a": {self.make(kind, depth)}}}.?{self.pick("ab")}'
        return f"optional.of({self.make(kind, depth)})"

    def make_list(self, kind: str, depth: int) -> str:
        return self.pick(  # type: ignore[no-any-return]
            (
                lambda: f"[{', '.join([self.make(kind, depth) for _ in range(self.random.randrange(4))])}]",
                lambda: f"[{self.make(kind, depth)}, ?{self.make('optional:' + kind, depth)}]",
                lambda: f"({self.make('list:' + kind, depth)} + {self.make('list:' + kind, depth)})",
                lambda: self.filtered(kind, depth),
                lambda: self.mapped(kind, depth),
                lambda: f"{self.make('list:' + kind, depth)}.{self.pick(('reverse', 'distinct'))}()",
                lambda: (
                    f"{self.make('list:' + kind, depth)}.slice({self.make('int', 0)}, {self.make('int', 0)})"
                ),
                lambda: (
                    f"{self.make('list:' + kind, depth)}.sort()"
                    if kind in SCALARS
                    else self.filtered(kind, depth)
                ),
                lambda: f"optional.unwrap([{self.make('optional:' + kind, depth)}])",
                lambda: (
                    f"{self.make('string', depth)}.split({self.make('string', 0)})"
                    if kind == "string"
                    else self.mapped(kind, depth)
                ),
                lambda: (
                    f"lists.range({self.random.randrange(6)})" if kind == "int" else self.mapped(kind, depth)
                ),
                lambda: (
                    f"{self.make('string', depth)}.findAll({self.pattern()})"
                    if kind == "string"
                    else self.leaf("list:" + kind)
                ),
            )
        )()

    def filtered(self, kind: str, depth: int) -> str:
        name = f"f{len(self.variables)}"
        return f"{self.make('list:' + kind, depth)}.filter({name}, {self.with_variable(name, kind, 'bool', depth)})"

    def mapped(self, kind: str, depth: int) -> str:
        inner = self.pick(("int", "string"))
        name = f"m{len(self.variables)}"
        choice = self.random.randrange(4)
        if choice == 0:
            self.variables.append((name, "int"))
            body = self.with_variable(name + "v", inner, kind, depth)
            self.variables.pop()
            return f"{self.make('list:' + inner, depth)}.transformList({name}, {name}v, {body})"
        if choice == 1 and kind in SCALARS:
            return f"{self.make('list:' + kind, depth)}.sortBy({name}, {self.with_variable(name, kind, 'int', 0)})"
        if choice == 2:
            test = self.with_variable(name, inner, "bool", depth)
            return f"{self.make('list:' + inner, depth)}.map({name}, {test}, {self.with_variable(name, inner, kind, depth)})"
        return (
            f"{self.make('list:' + inner, depth)}.map({name}, {self.with_variable(name, inner, kind, depth)})"
        )


def random_device(source: random.Random) -> dict[str, Any]:
    """A device in the form of `resource.k8s.io/v1`, with its driver."""
    attributes: dict[str, Any] = {}
    for name in IDENTIFIERS[:-1]:
        if source.random() < 0.75:
            attributes[name if source.random() < 0.8 else f"{source.choice(DOMAINS)}/{name}"] = (
                random_attribute(source, name)
            )
    capacity = {
        name: {"value": source.choice(("80Gi", "0", "1500m", "1k", "12e3"))} for name in ("memory", "cores")
    }
    device: dict[str, Any] = {
        "driver": source.choice(DOMAINS[:2]),
        "attributes": attributes,
        "capacity": capacity,
    }
    if source.random() < 0.5:
        device["allowMultipleAllocations"] = source.random() < 0.5
    return device


def random_attribute(source: random.Random, name: str) -> dict[str, Any]:
    """An attribute, often of the type that its name suggests."""
    usual: dict[str, dict[str, Any]] = {
        "model": {"string": "A100-SXM4"},
        "index": {"int": 3},
        "version": {"version": "1.2.3"},
        "ecc": {"bool": True},
        "features": {"strings": ["a", "abc"]},
        "speeds": {"ints": [1, 5, 42]},
        "address": {"string": "10.0.0.1"},
    }
    if source.random() < 0.6:
        return usual[name]
    return source.choice(
        (
            {"string": source.choice(TEXTS)},
            {"int": source.choice(INTS)},
            {"bool": source.random() < 0.5},
            {"version": source.choice(("1.2.3", "2.0.0-rc.1", "10.0.1+b"))},
            {"strings": ["a", "b"]},
            {"ints": [1, 2]},
            {"bools": [True]},
            {"versions": ["1.2.3", "2.0.0"]},
        )
    )
