"""Where keys, values and parts of values are, for every way of writing them."""

from __future__ import annotations

import pytest

from documents import Document, parse
from documents.positions import Place
from documents.source import Path

TEXT = """\
# A claim
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: "a", labels: {}}   # flow
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: 'gpu.example.com'  # class
        selectors:
        - cel:
            expression: |
              device.driver == "x" &&
                true
        - cel: {expression: "a \\u00e9\\nb"}
        count:
    -   name: nic
        "exactly": &nic
          deviceClassName: !!str nic
    - name: third
      exactly: *nic
  <<: {extra: 1}
"""


def document(text: str = TEXT) -> Document:
    (found,) = parse(text)
    assert isinstance(found, Document)
    return found


def stretch(found: Document, place: Place) -> str:
    """The text at a place."""
    line = found.source_line(place.line)
    return line[place.column - 1 : place.column - 1 + place.length]


REQUESTS: Path = ("spec", "devices", "requests")


@pytest.mark.parametrize(
    ("path", "line", "value", "key"),
    [
        pytest.param((), 2, "apiVersion", "apiVersion", id="root"),
        pytest.param(("kind",), 3, "ResourceClaim", "kind", id="plain"),
        pytest.param(("metadata",), 4, '{name: "a", labels: {}}', "metadata", id="flow-mapping"),
        pytest.param(("metadata", "name"), 4, '"a"', "name", id="in-flow"),
        pytest.param(("metadata", "labels"), 4, "{}", "labels", id="empty-mapping"),
        pytest.param(("spec",), 6, "devices", None, id="block-mapping-is-its-first-key"),
        pytest.param(REQUESTS, 8, "- name: gpu", None, id="block-sequence-is-its-first-entry"),
        pytest.param((*REQUESTS, 0), 8, "name", "name", id="entry"),
        pytest.param((*REQUESTS, 1, "name"), 18, "nic", "name", id="entry-with-wide-dash"),
        pytest.param(
            (*REQUESTS, 0, "exactly", "deviceClassName"),
            10,
            "'gpu.example.com'",
            "deviceClassName",
            id="single-quoted",
        ),
        pytest.param(
            (*REQUESTS, 0, "exactly", "selectors", 0, "cel", "expression"),
            13,
            "|",
            "expression",
            id="literal-block",
        ),
        pytest.param((*REQUESTS, 0, "exactly", "count"), 17, "count", "count", id="no-value-is-its-key"),
        pytest.param(
            (*REQUESTS, 1, "exactly", "deviceClassName"), 20, "nic", "deviceClassName", id="tag-left-out"
        ),
        pytest.param((*REQUESTS, 2, "exactly"), 22, "*nic", "exactly", id="alias"),
        pytest.param(
            (*REQUESTS, 2, "exactly", "deviceClassName"), 20, "nic", "deviceClassName", id="behind-an-alias"
        ),
        pytest.param(("spec", "extra"), 23, "1", "extra", id="merged"),
    ],
)
def test_a_path_leads_to_its_value_and_key(path: Path, line: int, value: str, key: str | None) -> None:
    """Place of the value and of the key; the parts of merged and aliased mappings are where they are written."""
    found = document()
    place = found.locate(path)
    assert (place.line, stretch(found, place), place.exact) == (line, value, True)
    if key is not None:
        assert stretch(found, found.locate_key(path)) == key


@pytest.mark.parametrize(
    ("path", "line", "expected"),
    [
        pytest.param(("status",), 2, "apiVersion", id="missing-at-the-root"),
        pytest.param(("spec", "missing", "x"), 5, "spec", id="missing-key"),
        pytest.param((*REQUESTS, 7, "name"), 7, "requests", id="index-behind-the-end"),
        pytest.param((*REQUESTS, -1), 7, "requests", id="negative-index"),
        pytest.param((*REQUESTS, "name"), 7, "requests", id="key-in-a-sequence"),
        pytest.param(("kind", 0), 3, "kind", id="index-in-a-scalar"),
        pytest.param(("metadata", 0), 4, "metadata", id="index-in-a-mapping"),
        pytest.param((*REQUESTS, 0, "missing"), 8, "name", id="missing-in-an-entry"),
    ],
)
def test_a_missing_path_leads_to_the_nearest_part(path: Path, line: int, expected: str) -> None:
    """That is the key, or in a list the entry, in which the rest of the path is missing."""
    found = document()
    for place in (found.locate(path), found.locate_key(path)):
        assert (place.line, stretch(found, place), place.exact) == (line, expected, False)


def test_positions_in_json() -> None:
    """JSON files have the same positions as YAML."""
    found = document('{\n\t"kind": "A", "spec": {"a": [1, "\\ud83d\\ude00b"], "é": {}}}\n')
    paths: list[Path] = [("kind",), ("spec", "a"), ("spec", "a", 1), ("spec", "é")]
    places = [found.locate(path) for path in paths]
    assert [stretch(found, place) for place in places] == [
        '"A"',
        '[1, "\\ud83d\\ude00b"]',
        '"\\ud83d\\ude00b"',
        "{}",
    ]
    assert [(place.line, place.column) for place in places] == [(2, 10), (2, 29), (2, 33), (2, 56)]
    assert stretch(found, found.locate_key(("spec", "é"))) == '"é"'
    assert stretch(found, found.locate_in_scalar(("spec", "a", 1), 1)) == "b"


def test_items_of_a_list_have_paths_of_their_own() -> None:
    """Paths begin at the item, JSON Pointers at the document that is in the file."""
    items = [
        found for found in parse("kind: List\nitems:\n- kind: A\n  m/~: 1\n") if isinstance(found, Document)
    ]
    assert items[0].line == 3
    assert items[0].locate(("m/~",)).line == 4
    assert items[0].json_pointer(("m/~", 0)) == "/items/0/m~1~0/0"


def test_later_documents_count_lines_from_the_begin_of_the_file() -> None:
    """Also when the separator carries a comment, and lines end as in Windows."""
    found = [one for one in parse("kind: A\r\n--- # b\r\n# c\r\nkind: B\r\n") if isinstance(one, Document)]
    assert found[1].line == 4
    assert found[1].locate(("kind",)) == Place(4, 7, 1)
    assert found[1].source_line(4) == "kind: B"
    assert (found[1].source_line(0), found[1].source_line(99)) == ("", "")


def test_columns_count_code_points() -> None:
    """Not bytes and not UTF-16 units."""
    assert document("{kind: \U0001f600é, b: x}\n").locate(("b",)).column == 15


def test_an_error_at_a_path() -> None:
    """Takes the place of the value."""
    error = document().error(("kind",), "no such kind", "did you mean")
    assert (str(error), error.hint) == ("-:3:7: no such kind", "did you mean")


def test_how_a_value_is_written() -> None:
    """For hints about what YAML makes of a text; nothing is written where a path ends early."""
    found = document("a: yes\nb: 'x'\nc: [1,\n  2]\nd:\n")
    paths: list[Path] = [("a",), ("b",), ("c",), ("d",), ("a", "x"), ("e",)]
    assert [found.written(path) for path in paths] == ["yes", "'x'", "[1,\n  2]", "", "", ""]
