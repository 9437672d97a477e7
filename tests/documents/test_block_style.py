"""The quick reader either gives up or finds what the full reader finds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from documents.block_style import MAX_DEPTH, MAX_SCALAR, NotBlockStyle, read_block_style
from documents.errors import MalformedText
from documents.tree import Expansion
from documents.yaml_tree import read_nodes
from documents.yaml_values import to_value

DATA = Path(__file__).parent / "data"

CLAIM = """\
# A claim for one of two GPUs
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: gpu   # short
  labels: {app: trainer, "x": 'y'}
  annotations:
    example.com/note: 'it''s "quoted"'
    'a/b': "d: e # f"
spec:
  devices:
    requests:
    - name: main
      firstAvailable:
        - name: big
          deviceClassName: gpu.example.com
          count: 2
          selectors:
          - cel:
              expression: |
                device.driver == "x" &&

                  true
          -
            cel:
              expression: device.capacity["x"].memory.compareTo(quantity("80Gi")) >= 0
    constraints: []
    config:
    - requests: [main, "b"]
      opaque: {}
    - - -5
      - 1.5
    empty:
"""


def fully_read(text: str) -> Any:
    root, _ = read_nodes(text)
    return None if root is None else to_value(root, Expansion(len(text)))


def agree(text: str) -> bool:
    """Whether the quick reader has answered; its answer must then be the full reader's, types included."""
    try:
        quick = read_block_style(text)
    except NotBlockStyle:
        return False
    assert json.dumps(quick) == json.dumps(fully_read(text))
    return True


def test_ordinary_manifests_are_read_quickly() -> None:
    """Block style with comments, quotes, simple flow collections and literal blocks needs no full reader."""
    assert agree(CLAIM)


@pytest.mark.parametrize("case", sorted(path.stem for path in (DATA / "documents").glob("*.yaml")))
def test_the_readers_agree_on_the_data_files(case: str) -> None:
    """Whatever the quick reader answers, the full reader answers as well."""
    for text in (DATA / "documents" / f"{case}.yaml").read_text("utf-8").split("\n---"):
        try:
            agree(text + "\n")
        except MalformedText as error:
            pytest.fail(f"only the quick reader understands this: {error}")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: b\n  c: d\n", id="deeper-key-after-a-value"),
        pytest.param("a: b\n  - c\n", id="deeper-dash-after-a-value"),
        pytest.param("a: b\n  c\n", id="continued-scalar"),
        pytest.param("a: 'b\n  c'\n", id="continued-quotes"),
        pytest.param("a: b\n- c\n", id="dash-beside-a-key"),
        pytest.param("- a\nb: c\n", id="key-beside-a-dash"),
        pytest.param("a:\n  b: 1\n c: 2\n", id="key-between-two-columns"),
        pytest.param("a:\n - b\n  - c\n", id="dash-deeper-than-the-first"),
        pytest.param("a: &x b\n", id="anchor"),
        pytest.param("a: *x\n", id="alias"),
        pytest.param("a: !!str 1\n", id="tag"),
        pytest.param("<<: {a: b}\n", id="merge"),
        pytest.param("a: b\na: c\n", id="repeated-key"),
        pytest.param("{a: b, a: c}\n", id="flow-root"),
        pytest.param("k: {a: b, a: c}\n", id="repeated-key-in-flow"),
        pytest.param("yes: b\n", id="key-that-is-a-boolean"),
        pytest.param("1: b\n", id="key-that-is-a-number"),
        pytest.param("a:\tb\n", id="tab"),
        pytest.param('a: "\\n"\n', id="escape"),
        pytest.param("a: .inf\n", id="infinity"),
        pytest.param("a: b: c\n", id="two-colons"),
        pytest.param("a: b:\n", id="colon-at-the-end"),
        pytest.param("a: 'b' c\n", id="text-behind-quotes"),
        pytest.param("a: [b]c\n", id="text-behind-brackets"),
        pytest.param("a: [b, [c]]\n", id="nested-flow"),
        pytest.param("a: [b\n  c]\n", id="flow-over-lines"),
        pytest.param("a: [b,,c]\n", id="empty-flow-entry"),
        pytest.param("a: - b\n", id="dash-behind-a-key"),
        pytest.param("- --- \n", id="separator-as-an-entry"),
        pytest.param("a: b\n---\n", id="second-document"),
        pytest.param("a: b\n...\n", id="document-end"),
        pytest.param("%YAML 1.1\n", id="directive"),
        pytest.param("text\n", id="scalar-root"),
        pytest.param("a: >\n  b\n", id="folded-block"),
        pytest.param("a: |2\n   b\n", id="indentation-indicator"),
        pytest.param("a: |\n    b\n   c\n", id="block-line-out-of-line"),
        pytest.param("a: |\nb: c\n", id="empty-block"),
        pytest.param("a: |\n  b\n   \n", id="block-that-ends-in-blanks"),
        pytest.param("a: \x07\n", id="control-character"),
        pytest.param("a: \u2028b\n", id="line-separator"),
        pytest.param("a" * 300 + ": b\n", id="very-long-key"),
        pytest.param(f"a: '{'b' * MAX_SCALAR}'\n", id="very-long-scalar"),
        pytest.param("".join("  " * depth + "a:\n" for depth in range(MAX_DEPTH + 2)), id="very-deep"),
    ],
)
def test_what_is_not_plain_block_style_is_left_alone(text: str) -> None:
    """All of these need the full reader, some for its error."""
    with pytest.raises(NotBlockStyle):
        read_block_style(text)


LINES = [
    *CLAIM.splitlines(), "a: b", "b:", "c: 1 # c", "d: 'x'", 'e: "y"', "f: [a, b]", "g: {h: i}", "- a", "- b: c", "-",
    "- - d", "# note", "", " ", "i: |", "j: |-", "k: >-", "text", "l: yes", "m: 0o17", "y: 1", "n: -x", "o: ~", "p: a:b",
    "q: a #b", "r: a#b", "'s': t", '"u": v', "---", "...", "w: [", "x: ]", "- [a]", "- {b: c}", "z: 1e3", "aa: .5", "ab: -",
    "ac: 2020-01-01", "ad: [a b, 'c, d']", "ae: {f: }", "- |", "-  b: c", "   d: e", "af: (x) ? y : z", "ag: &a b", "ah: *a",
]  # fmt: skip


@settings(max_examples=1500)
@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from(LINES)), max_size=8))
@example([(0, "a:"), (0, "- b"), (0, "c: d")])
@example([(0, "- a: b"), (2, "- c")])
def test_the_readers_agree_on_lines_in_any_order(lines: list[tuple[int, str]]) -> None:
    """Right and wrong documents from lines of all kinds at all depths."""
    text = "".join(" " * indent + line + "\n" for indent, line in lines)
    try:
        agree(text)
    except MalformedText as error:
        pytest.fail(f"only the quick reader understands this: {error}")


@settings(max_examples=1500)
@given(st.data())
def test_the_readers_agree_on_damaged_manifests(data: st.DataObject) -> None:
    """A manifest with a piece replaced by characters that mean something in YAML."""
    start = data.draw(st.integers(0, len(CLAIM)))
    end = data.draw(st.integers(start, min(start + 6, len(CLAIM))))
    piece = data.draw(st.text(st.sampled_from(":-#'\"|>[]{},&*! \n\tab0?.%"), max_size=4))
    try:
        agree(CLAIM[:start] + piece + CLAIM[end:])
    except MalformedText as error:
        pytest.fail(f"only the quick reader understands this: {error}")
