"""A document gets a new value, and its text changes only where the value does."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents import Document, parse
from documents.editing import edit, same
from documents.emitting import block
from documents.rewriting import rewrite

DATA = Path(__file__).parent / "data" / "editing"


def value_of(text: str) -> Any:
    (found,) = parse(text)
    assert isinstance(found, Document), found
    return found.value


@pytest.mark.parametrize("case", sorted(path.stem[: -len(".value")] for path in DATA.glob("*.value.json")))
def test_comments_order_and_style_survive(case: str) -> None:
    """`CASE.yaml` with the value of `CASE.value.json` is exactly `CASE.expected.yaml`."""
    text = (DATA / f"{case}.yaml").read_text("utf-8")
    value = json.loads((DATA / f"{case}.value.json").read_text("utf-8"))
    edited = edit(text, value)
    assert edited == (DATA / f"{case}.expected.yaml").read_text("utf-8")
    assert same(value_of(edited), value)


@pytest.mark.parametrize("case", ["wrap-in-exactly", "keys-added-and-removed", "kyaml"])
def test_the_value_it_has_leaves_a_text_as_it_is(case: str) -> None:
    """To the last character."""
    text = (DATA / f"{case}.yaml").read_text("utf-8")
    assert edit(text, value_of(text)) == text


def test_line_ends_of_windows_stay() -> None:
    """New lines end as the others do."""
    text = "kind: A\r\nspec: # here\r\n  a: 1\r\n"
    assert edit(text, {"kind": "A", "spec": {"a": 2, "b": ["x"]}}) == (
        "kind: A\r\nspec: # here\r\n  a: 2\r\n  b:\r\n  - x\r\n"
    )


def test_wrapping_and_unwrapping_gives_the_text_back() -> None:
    """Fields that move in and out of `exactly` take their comments along both ways."""
    old, new = ((DATA / f"wrap-in-exactly{kind}.yaml").read_text("utf-8") for kind in ("", ".expected"))
    assert edit(new, value_of(old)) == old


def test_only_the_documents_that_change_are_touched() -> None:
    """Separators, other documents, even broken ones, and items of lists stay where they are."""
    text = "# a\nkind: A # a\n---\nkind: [\n---\n# list\nkind: List\nitems:\n- kind: B # b\n- kind: C # c\n---\n{kind: D}"
    found = [one for one in parse(text) if isinstance(one, Document)]
    changes = [(one, {"kind": one.value["kind"] + "2"}) for one in found if one.value["kind"] != "B"]
    expected = text.replace("A #", "A2 #").replace("C #", "C2 #").replace("{kind: D}", '{kind: "D2"}\n')
    assert rewrite(found[0].source, changes) == expected


def test_several_items_of_one_list() -> None:
    """Their changes come together."""
    found = [one for one in parse("kind: List\nitems:\n- kind: A\n- kind: B\n") if isinstance(one, Document)]
    changes = [(one, {"kind": "X"}) for one in found]
    assert rewrite(found[0].source, changes) == "kind: List\nitems:\n- kind: X\n- kind: X\n"


@pytest.mark.parametrize("character", "\xad\u180e\u200b\u202e\u2060\u2064\u2069\u206f\ufff9\ufffb", ids=ascii)
def test_what_cannot_be_seen_is_escaped(character: str) -> None:
    """A text that looks like another one is told from it; it is the same value for parsers."""
    text = f"a{character}b"
    assert block({"k": text}) == [f'k: "a\\u{ord(character):04x}b"']
    assert value_of("\n".join(block({"k": text}))) == {"k": text}


def test_long_text_is_not_read_again_for_each_new_value() -> None:
    """How a text is indented is found once: it was for each of thousands of objects in a list."""
    text = "kind: List\nitems:\n" + "- kind: A\n" * 50
    found = [one for one in parse(text) if isinstance(one, Document)]
    splits: list[str] = []

    def noted(frame: FrameType, event: str, function: Any) -> None:
        if event == "c_call" and function.__name__ == "split" and function.__self__ == text:
            splits.append(frame.f_code.co_name)

    sys.setprofile(noted)
    try:
        changed = rewrite(found[0].source, [(one, {"kind": "A", "spec": {"a": [1]}}) for one in found])
    finally:
        sys.setprofile(None)
    assert [one.value for one in parse(changed) if isinstance(one, Document)] == [
        {"kind": "A", "spec": {"a": [1]}}
    ] * 50
    assert len(splits) <= 3, splits


def test_json_stays_json() -> None:
    """Indented by two, beyond ASCII as it is."""
    (found,) = parse('{"kind":"é","a":1}\n')
    assert isinstance(found, Document)
    assert rewrite(found.source, [(found, {"kind": "é", "a": [2]})]) == (
        '{\n  "kind": "é",\n  "a": [\n    2\n  ]\n}\n'
    )


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.sampled_from([0.5, 1e21, -1.5e-7])
    | st.text(max_size=12)
    | st.text(st.sampled_from("ab :#-'\"\n\\{}[],&*!|>%@`?=~\t\u2028\ufeff"), max_size=12)
    | st.sampled_from(
        [
            "yes",
            "1",
            "0o7",
            "<<",
            "null",
            "2020-01-01",
            ".inf",
            "a: b",
            "a #b",
            "- a",
            "---",
            'device.x == "y"',
        ]
    )
)
KEYS = st.sampled_from(["a", "b", "name", "exactly", "basic", "y", "1", "a/b", "<<", "", "é"]) | st.text(
    max_size=4
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=5).filter(lambda value: "items" not in value)


#: What nobody sees: a soft hyphen, an override, controls of shorthand and music, tags, a selector of variants.
INVISIBLE = "\xad\u202e\U0001bca0\U0001d173\U000e0001\U000e0041\U000e007f\U000e0100"


@pytest.mark.parametrize("character", INVISIBLE, ids=ascii)
@pytest.mark.parametrize(
    "form", ["a{}b", "device.x == {}y", "a\nb{}\n"], ids=["plain", "expression", "lines"]
)
def test_what_nobody_sees_is_escaped(form: str, character: str) -> None:
    """In fresh YAML, wherever it stands: reviewers see what a server gets."""
    value = {"key": form.format(character), f"a{character}": [form.format(character)]}
    written = "\n".join(block(value)) + "\n"
    assert character not in written
    assert value_of(written) == value


@settings(max_examples=200)
@given(value=OBJECTS, indent=st.sampled_from([0, 2]))
def test_what_is_written_is_read_again(value: dict[str, Any], indent: int) -> None:
    """Fresh YAML has the value it was made from, whatever strings and keys look like."""
    assert same(value_of("\n".join(block(value, indent)) + "\n"), value)


@settings(max_examples=200)
@given(old=OBJECTS, new=OBJECTS, indent=st.sampled_from([0, 2]), comments=st.booleans())
def test_any_value_can_follow_any_other(
    old: dict[str, Any], new: dict[str, Any], indent: int, comments: bool
) -> None:
    """The edited text has the new value."""
    text = "\n".join(block(old, indent)) + "\n"
    if comments:
        text = "# head\n" + text + "# end\n"
    assert same(value_of(edit(text, new)), new)


@settings(max_examples=100)
@given(data=st.data())
def test_comments_beside_a_change_survive(data: st.DataObject) -> None:
    """In a tree of commented keys, changing one value keeps every comment."""
    names = ["a", "b", "c"]
    lines = ["kind: A"]
    for outer in names:
        lines += [f"# above {outer}", f"{outer}: # beside {outer}"]
        for inner in names:
            lines += [f"  # above {outer}{inner}", f"  {inner}: old # beside {outer}{inner}"]
    text = "\n".join(lines) + "\n"
    value = value_of(text)
    value[data.draw(st.sampled_from(names))][data.draw(st.sampled_from(names))] = data.draw(SCALARS)
    edited = edit(text, value)
    assert same(value_of(edited), value)
    assert [edited.count(f" {word} ") for word in ("above", "beside")] == [12, 12]
