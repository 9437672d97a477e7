"""The verifier refuses every code object that does what the generator has no use for."""

from __future__ import annotations

import opcode
import sys
from types import CodeType
from typing import Any

import pytest

from deviceselectors.runtime import verifier
from deviceselectors.runtime.verifier import UnsafeCodeError, as_shown, verify

NAMES = {"K1", "K2"}
SOUND = "def program(d): return d.driver"


def function(source: str) -> CodeType:
    """The code of the first function in a source."""
    module = compile(source, "<cel>", "exec", dont_inherit=True)
    return next(each for each in module.co_consts if isinstance(each, CodeType))


def changed(**parts: Any) -> CodeType:
    return function(SOUND).replace(**parts)


def instruction(name: str) -> CodeType:
    """Sound code with one more instruction in front."""
    code = function(SOUND)
    return code.replace(co_code=bytes((opcode.opmap[name], 0)) + code.co_code)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(SOUND, id="attribute"),
        pytest.param("def program(d): return K1(d.attributes[K2], K1)", id="globals"),
        pytest.param("def program(d): return (t1 if K1(t1 := d.driver) is K2 else t1.startswith(K1))", id="named"),
        pytest.param("def f1(d, c, v1):\n for v2 in v1:\n  c += 1\n return [v2, *v1], c", id="loop"),
        pytest.param("def f1(d):\n try: t1 = K1(d)\n except K2: t1 = K1()\n return t1", id="handler"),
        pytest.param(f"def f1({', '.join([f't{i}' for i in range(1, 40)])}): return K1({', '.join([f't{i}' for i in range(1, 40)])})",
                     id="many-arguments"),
        pytest.param("def f1(d): return " + " + ".join(["K1(1000)"] * 300), id="long"),
    ],
)  # fmt: skip
def test_accepted(source: str) -> None:
    """What the generator writes passes."""
    verify(function(source), NAMES)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        pytest.param(function("def f1(d): return __import__(d)"), "global name", id="global-dunder"),
        pytest.param(function("def f1(d): return __builtins__"), "global name", id="builtins"),
        pytest.param(function("def f1(d): return K3"), "global name", id="not-in-the-table"),
        pytest.param(function("def f1(d): return get"), "global name", id="attribute-as-global"),
        pytest.param(function("def f1(d): return d.__class__"), "attribute", id="dunder"),
        pytest.param(function("def f1(d): return d.__class__.__mro__"), "attribute", id="two-dunders"),
        pytest.param(function("def f1(d): return d.format(d)"), "attribute", id="format"),
        pytest.param(function("def f1(d): return d.K1"), "attribute", id="name-as-attribute"),
        pytest.param(function("def f1(d): return d.system(K1)"), "attribute", id="method"),
        pytest.param(function(f"def f1(d): return [{', '.join([f'K1(d).a{i}' for i in range(300)])}]"), "attribute",
                     id="beyond-extended-arguments"),
        pytest.param(function("def f1(d): import t1"), "instruction IMPORT_NAME", id="import"),
        pytest.param(function("def f1(d): from t1 import t2"), "instruction IMPORT_NAME", id="import-from"),
        pytest.param(function("def f1(d):\n global K1\n K1 = d"), "instruction STORE_GLOBAL", id="store-global"),
        pytest.param(function("def f1(d):\n global K1\n del K1"), "instruction DELETE_GLOBAL", id="delete-global"),
        pytest.param(function("def f1(d): d.driver = d"), "instruction STORE_ATTR", id="store-attribute"),
        pytest.param(function("def f1(d): del d.driver"), "instruction DELETE_ATTR", id="delete-attribute"),
        pytest.param(function("def f1(d): d[K1] = d"), "instruction STORE_SUBSCR", id="store-element"),
        pytest.param(function("def f1(d): del d[K1]"), "instruction DELETE_SUBSCR", id="delete-element"),
        pytest.param(function("def f1(d): del d"), "instruction DELETE_FAST", id="delete-local"),
        pytest.param(function("def f1(d): yield d"), "flags", id="generator"),
        pytest.param(function("async def f1(d): await d"), "flags", id="coroutine"),
        pytest.param(function("def f1(*d): return d"), "flags", id="starred-parameter"),
        pytest.param(function("def f1(**d): return d"), "flags", id="keywords"),
        pytest.param(function("def f1(*, d): return d"), "parameters", id="keyword-only"),
        pytest.param(function("def f1(d, /): return d"), "parameters", id="position-only"),
        pytest.param(function("def f1(os): return os"), "local name", id="local-name"),
        pytest.param(function("def f1(d): __class__ = d"), "local name", id="local-dunder"),
        pytest.param(function("def f1(d):\n def f2(c): return d\n return f2"), "shared", id="closure"),
        pytest.param(function("def f1(d):\n def c(c): return c\n return c"), "instruction MAKE_FUNCTION", id="function"),
        pytest.param(function("def f1(d): return lambda: K1"), "instruction MAKE_FUNCTION", id="lambda"),
        pytest.param(function("def f1(d): return [K1 for v1 in d]"), "instruction (MAKE_FUNCTION|LOAD_FAST_AND_CLEAR)", id="comprehension"),
        pytest.param(function("def f1(d):\n class t1: pass"), "instruction LOAD_BUILD_CLASS", id="class"),
        pytest.param(function("def f1(d):\n with d: return K1"), "instruction (BEFORE_WITH|LOAD_SPECIAL)", id="with"),
        pytest.param(function("def f1(d): return K1(d=d)"), "instruction (KW_NAMES|CALL_KW)", id="keyword-argument"),
        pytest.param(function("def f1(d): return 'text'"), "constant of type str", id="text"),
        pytest.param(function("def f1(d): return b'x'"), "constant of type bytes", id="bytes"),
        pytest.param(function("def f1(d): return 1.5"), "constant of type float", id="float"),
        pytest.param(function("def f1(d): return -1"), "constant of type int", id="negative"),
        pytest.param(function("def f1(d): return 99999999999"), "constant of type int", id="large"),
        pytest.param(function("def f1(d): return (1, 'text')"), "constant of type tuple", id="text-in-a-tuple"),
        pytest.param(function("def f1(d): return ((1, 2), 3)"), "constant of type tuple", id="tuple-in-a-tuple"),
        pytest.param(function("def f1(d): return d in {1, 2}"), "constant of type frozenset", id="set"),
        pytest.param(function("def f1(d): return ..."), "constant of type ellipsis", id="ellipsis"),
        pytest.param(function("def f1(d): return d ** d"), "operator", id="power"),
        pytest.param(function("def f1(d): return d << d"), "operator", id="shift"),
        pytest.param(function("def f1(d): return d % d"), "operator", id="modulo"),
        pytest.param(function("def f1(d): return f'{d}'"), "instruction FORMAT_", id="format-string"),
        pytest.param(function("def f1(d): return d[1:2]"), "instruction (BUILD|BINARY)_SLICE", id="slice"),
        pytest.param(function("def f1(d): return {d: d}"), "instruction BUILD_MAP", id="map"),
        pytest.param(function("def f1(d): assert d"), "instruction LOAD_ASSERTION_ERROR", id="assert"),
        pytest.param(changed(co_flags=0x3 | 0x20), "flags", id="changed-flags"),
        pytest.param(changed(co_names=("__class__",)), "attribute", id="changed-names"),
        pytest.param(changed(co_names=("driver", "__globals__")), "neither in the table nor", id="name-that-none-takes"),
        pytest.param(changed(co_consts=(None, function(SOUND))), "constant of type code", id="function-inside"),
        pytest.param(changed(co_consts=("text",)), "constant of type str", id="changed-constants"),
        pytest.param(instruction("LOAD_BUILD_CLASS"), "instruction LOAD_BUILD_CLASS", id="build-class"),
        pytest.param(instruction("LOAD_NAME"), "instruction LOAD_NAME", id="load-name"),
        pytest.param(instruction("STORE_NAME"), "instruction STORE_NAME", id="store-name"),
        pytest.param(instruction("MAKE_FUNCTION"), "instruction MAKE_FUNCTION", id="make-function"),
        pytest.param(instruction("LOAD_DEREF"), "instruction LOAD_DEREF", id="load-cell"),
    ],
)  # fmt: skip
def test_refused(code: CodeType, reason: str) -> None:
    """The error says what is not allowed."""
    with pytest.raises(UnsafeCodeError, match=reason):
        verify(code, NAMES)


def test_unknown_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a release of Python whose instructions are not known nothing is verified."""
    monkeypatch.setattr(verifier, "_RULES", verifier._Rules((3, 99)))
    with pytest.raises(UnsafeCodeError):
        verify(function(SOUND), NAMES)


def test_this_release_is_known() -> None:
    """The tests run on a release that code is generated for."""
    assert sys.version_info[:2] in verifier._INSTRUCTIONS


def test_nothing_hides_in_caches() -> None:
    """What Python leaves out when it shows code, the places of inline caches, is empty in the code that is verified."""
    code = function("def f1(d): return K1")
    start = next(
        at for at in range(0, len(code.co_code), 2) if code.co_code[at] == opcode.opmap["LOAD_GLOBAL"]
    )
    hidden = bytes((opcode.opmap["IMPORT_NAME"], 0))
    forged = code.replace(co_code=code.co_code[: start + 2] + hidden + code.co_code[start + 4 :])
    assert as_shown(forged).co_code == code.co_code
    assert as_shown(forged) == as_shown(code)
