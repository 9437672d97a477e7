"""Why an expression gave false or failed, and expressions written out again."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.explaining import MAX_REASONS, Explainer
from deviceselectors.lookups import looks_up_only, unguarded
from deviceselectors.runtime import effort
from deviceselectors.runtime.device import prepare_device
from deviceselectors.runtime.program import EvaluationError, Program
from deviceselectors.unparsing import unparse

D = 'device.attributes["d.example.com"]'
DEVICE = prepare_device(
    {
        "attributes": {
            "model": {"string": "h100"},
            "index": {"int": 3},
            "version": {"version": "1.2.3"},
            "links": {"strings": ["a", "b"]},
            "other.example/x": {"bool": True},
        },
        "capacity": {"memory": {"value": "40Gi"}},
    },
    "d.example.com",
)

REASONS = [
    pytest.param(f'{D}.model == "h100"', [], id="true"),
    pytest.param(f'{D}.model == "a100"', [f'{D}.model == "a100" is false: model is "h100"'], id="other-value"),
    pytest.param(
        f'device.driver == "d.example.com" && {D}.model == "a100" && {D}.index > 5',
        [f'{D}.model == "a100" is false: model is "h100"', f"{D}.index > 5 is false: index is 3"],
        id="two-of-three-terms",
    ),
    pytest.param(
        f'{D}.model == "a100" && {D}.nope',
        [f'{D}.model == "a100" is false: model is "h100"'],
        id="false-absorbs-an-error",
    ),
    pytest.param(
        f'{D}.model == "a100" || {D}.nope == 1',
        [
            (f'{D}.nope fails: no such key: nope: the device has no attribute "nope" in the domain "d.example.com"; '
            'it has "index", "links", "model", "version"')
        ],
        id="error-that-nothing-absorbs",
    ),
    pytest.param(
        'device.attributes["e.example.com"].model == "a"',
        [
            ('device.attributes["e.example.com"].model fails: no such key: model: the device has no attributes in the '
            'domain "e.example.com"; it has the domains "d.example.com", "other.example"')
        ],
        id="missing-domain",
    ),
    pytest.param(
        'device.capacity["d.example.com"].cores == quantity("1")',
        [
            ('device.capacity["d.example.com"].cores fails: no such key: cores: the device has no capacity "cores" in '
            'the domain "d.example.com"; it has "memory"')
        ],
        id="missing-capacity",
    ),
    pytest.param(
        'device.capacity["d.example.com"].memory.compareTo(quantity("80Gi")) >= 0',
        ['device.capacity["d.example.com"].memory.compareTo(quantity("80Gi")) >= 0 is false: memory is 40Gi'],
        id="quantity",
    ),
    pytest.param(
        f"has({D}.nope)",
        [
            (f'has({D}.nope) is false: the device has no attribute "nope" in the domain "d.example.com"; it has '
            '"index", "links", "model", "version"')
        ],
        id="has",
    ),
    pytest.param(
        '"nope" in device.attributes',
        ['"nope" in device.attributes is false: its domains are "d.example.com", "other.example"'],
        id="in-domains",
    ),
    pytest.param(
        f"!({D}.index in [1, 2, 3])", [f"{D}.index in [1, 2, 3] is true: index is 3"], id="negation"
    ),
    pytest.param(
        f'!(device.driver == "d.example.com" && {D}.index == 3)',
        ['device.driver == "d.example.com" is true: driver is "d.example.com"', f"{D}.index == 3 is true: index is 3"],
        id="negated-conjunction",
    ),
    pytest.param(
        f"{D}.index > 2 ? {D}.index > 5 : true",
        [f"{D}.index > 5 is false: index is 3, {D}.index > 2 is true"],
        id="branch",
    ),
    pytest.param(
        f'{D}.index < "3"', [f'{D}.index < "3" fails: no such overload: index is 3 (int)'], id="wrong-type"
    ),
    pytest.param(
        f'cel.bind(a, {D}, a.model == "a100" || a.index > 5)',
        ['a.model == "a100" is false: model is "h100"', "a.index > 5 is false: index is 3"],
        id="bound-variable",
    ),
    pytest.param(
        f'cel.bind(a, {D}, a.model == "h100" && a.nope > 5)',
        [
            ('a.nope fails: no such key: nope: the device has no attribute "nope" in the domain "d.example.com"; it has '
            '"index", "links", "model", "version"')
        ],
        id="bound-variable-without-an-attribute",
    ),
    pytest.param(
        f"cel.bind(a, {D}.nope, a == 1)",
        [
            (f'{D}.nope fails: no such key: nope: the device has no attribute "nope" in the domain "d.example.com"; '
            'it has "index", "links", "model", "version"')
        ],
        id="bound-to-an-error",
    ),
    pytest.param(
        f"cel.bind(a, {D}, cel.bind(a, {{'x': 1}}, a.nope == 1))",
        ["a.nope fails: no such key: nope"],
        id="bound-twice",
    ),
    pytest.param(
        f'{D}.links.exists(x, x == "c")', [f'{D}.links.exists(x, x == "c") is false: links is ["a", "b"]'], id="loop"
    ),
    pytest.param(
        f'{D}.?nope.orValue("z") == "a"',
        [f'{D}.?nope.orValue("z") == "a" is false: nope is missing'],
        id="missing",
    ),
    pytest.param(
        f'{D}.?model.orValue("z") == "a"',
        [f'{D}.?model.orValue("z") == "a" is false: model is "h100"'],
        id="optional",
    ),
    pytest.param("device.allowMultipleAllocations", ["device.allowMultipleAllocations is false"], id="field"),
    pytest.param(D + ".model", [f'{D}.model is "h100"'], id="no-bool"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "expected"), REASONS)
def test_reasons(expression: str, expected: list[str]) -> None:
    """The parts that made the expression false or fail, with the values that they saw."""
    root = compile_expression(expression, Environment("stored")).ast
    assert root is not None
    assert [str(reason) for reason in Explainer(root).explain(DEVICE)] == expected


def test_reasons_are_few() -> None:
    """Of many parts that are false, the first are told."""
    root = compile_expression(" || ".join(["device.driver == 'x'"] * 20), Environment()).ast
    assert root is not None
    assert len(Explainer(root).explain(DEVICE)) == MAX_REASONS


def test_position() -> None:
    """The position of a reason is that of its operator in the source, in code points."""
    expression = f'"é" == "é" && {D}.index > 5'
    root = compile_expression(expression, Environment()).ast
    assert root is not None
    (reason,) = Explainer(root).explain(DEVICE)
    assert expression[reason.position] == ">"


WRITTEN = [
    "(1 + 2) * 3 - (4 - 5) == -3 || !(true && false) && 1 % 2 < 3",
    "a ? b : c ? d : e",
    '"a\\"é\\n" + "b" != r"\\d" && b"\\xff\\n" != b"a"',
    "1u + 2u == 3u && 1.5 < 1e+30 && null == null",
    '{"a": [1, 2], ?"b": optional.none()}.a[0] == [1, ?optional.of(2)][1]',
    '{"a": 1}.?b.orValue(2) == {"a": 1}[?"b"].orValue(3)',
    "[1].all(x, x > 0) && [1].exists(x, x > 0) && [1].exists_one(x, x > 0)",
    "[1].map(x, x * 2) == [1].map(x, x > 0, x) && [1].filter(x, x > 0) == []",
    "[1].all(i, v, v > i) && [1].transformList(i, v, v > 0, v) == [] && {1: 2}.transformMap(k, v, v) == {1: 2}",
    "cel.bind(x, 1, x + 1) == 2 && [2, 1].sortBy(x, -x) == [2, 1]",
    "optional.of(1).optMap(x, x + 1).hasValue() && optional.of(1).optFlatMap(x, optional.of(x)).hasValue()",
    "device.attributes[\"d\"].`a-b` == 1 && has(device.attributes[\"d\"].a)",
    "google.protobuf.Duration{seconds: 1} == duration(\"1s\")",
]  # fmt: skip


@pytest.mark.parametrize("expression", WRITTEN)
def test_written_out(expression: str) -> None:
    """What is written out means the same: written out again it stays, and it gives the same on a device."""
    expression = expression.replace("a ? b : c ? d : e", "true ? false : false ? true : true")
    root = compile_expression(expression, Environment("stored")).ast
    assert root is not None
    text = unparse(root)
    again = compile_expression(text, Environment("stored")).ast
    assert again is not None, text
    assert unparse(again) == text
    assert _outcome(Program(again)) == _outcome(Program(root))


def _outcome(program: Program) -> bool | str:
    try:
        return program.matches(DEVICE)
    except EvaluationError as error:
        return str(error)


def test_measured_expressions_written_out(shared: Path) -> None:
    """Every measured expression that compiles is the same when written out: by type and by cost."""
    seen = set()
    for line in (shared / "corpus" / "cel.jsonl").read_text().splitlines():
        case = json.loads(line)
        if "error" in case["expect"] or case["expr"] in seen:
            continue
        seen.add(case["expr"])
        environment = Environment(case["env"], case["cc"], case["lt"], case["derived"])
        compiled = compile_expression(case["expr"], environment)
        assert compiled.ast is not None
        again = compile_expression(unparse(compiled.ast), environment)
        assert (again.error, again.max_cost, again.output_type) == (
            None,
            compiled.max_cost,
            compiled.output_type,
        ), case["expr"]


GUARDS = [
    pytest.param(f"has({D}.a) && {D}.a == 1", [], id="has"),
    pytest.param(f"{D}.a == 1 && has({D}.a)", [], id="has-behind"),
    pytest.param(f"{D}.a == 1 || has({D}.a)", ["a"], id="has-or"),
    pytest.param(f"!has({D}.a) || {D}.a == 1", [], id="not-has-or"),
    pytest.param(f"(has({D}.a) || has({D}.b)) && {D}.a == 1", ["a"], id="either"),
    pytest.param(f"(has({D}.a) && has({D}.b)) && {D}.a == {D}.b", [], id="both"),
    pytest.param(f"!(!has({D}.a) || {D}.a != 1)", [], id="negated"),
    pytest.param(f'"a" in {D} ? {D}.a == 1 : {D}.b == 1', ["b"], id="branches"),
    pytest.param(f"{D}.?a.orValue(1) == 1", [], id="optional"),
    pytest.param(f'{D}["a"] == 1 && {D}.a == 2', ["a"], id="twice"),
    pytest.param(f"[1].all(x, {D}.a == x)", ["a"], id="in-a-loop"),
]


@pytest.mark.parametrize(("expression", "expected"), GUARDS)
def test_unguarded(expression: str, expected: list[str]) -> None:
    """Look-ups that fail where the attribute is missing."""
    root = compile_expression(expression, Environment("stored")).ast
    assert root is not None
    assert [lookup.name for lookup in unguarded(root)] == expected


WANTED = [
    (f'{D}.model == "a100"', (("model", '"h100"'),), '"a100"'),
    (f'!({D}.model == "h100")', (("model", '"h100"'),), 'not "h100"'),
    (f'{D}.model != "h100"', (("model", '"h100"'),), 'not "h100"'),
    (f"5 < {D}.index", (("index", "3"),), "> 5"),
    (f"!({D}.index >= 3)", (("index", "3"),), "< 3"),
    (f"{D}.index in [1, 2]", (("index", "3"),), "one of 1, 2"),
    (f"!({D}.index in [1, 3])", (("index", "3"),), "not one of 1, 3"),
    ('device.driver == "e"', (("driver", '"d.example.com"'),), '"e"'),
    (f'{D}.model.startsWith("a")', (("model", '"h100"'),), ""),
    (f'{D}.model == string({D}.index)', (("model", '"h100"'), ("index", "3")), ""),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "seen", "wanted"), WANTED)
def test_wanted(expression: str, seen: tuple[tuple[str, str], ...], wanted: str) -> None:
    """What a part saw, and what it would have accepted where that is a constant."""
    root = compile_expression(expression, Environment("stored")).ast
    assert root is not None
    (reason,) = Explainer(root).explain(DEVICE)
    assert (reason.seen, reason.wanted) == (seen, wanted)


@pytest.mark.parametrize(
    ("expression", "only"),
    [
        (f'{D}.model == "a" && device.driver == "b" && has({D}.x)', True),
        (f'"x" in {D} && "d" in device.attributes && device.capacity["d"].?memory.hasValue()', True),
        (f"size({D}) > 1", False),
        ("device.attributes.exists(domain, domain == 'd')", False),
        ("device.allowMultipleAllocations", False),
        (f"cel.bind(own, {D}, own.model == 'a')", False),
        (f"{D}[device.driver] == 'a'", False),
    ],
)
def test_what_an_expression_sees(expression: str, only: bool) -> None:
    """Devices that agree in what is looked up are the same to an expression that does nothing else."""
    root = compile_expression(expression, Environment("stored")).ast
    assert root is not None
    assert looks_up_only(root) is only


def test_time_is_looked_at_before_each_part() -> None:
    """Each may be short: there may be hundreds."""
    expression = f"{'true && (' * 50}{D}.model == 'a100'{')' * 50}"
    compiled = compile_expression(expression, Environment("stored"))
    assert compiled.ast is not None
    looks = Counter[str]()
    with effort.watched(lambda: looks.update(["clock"])):
        assert Explainer(compiled.ast).explain(DEVICE)
    assert looks["clock"] > 100
