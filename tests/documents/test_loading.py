"""What kubectl makes of a text, `documents.parse` makes of it, too; and it says where things are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from documents import Document, DocumentError, load, parse

DATA = Path(__file__).parent / "data"
CASES = sorted(path.stem for path in (DATA / "documents").glob("*.yaml"))
CLAIM = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata:\n  name: a\n"


def outcome(found: Document | DocumentError) -> dict[str, Any]:
    """A document or an error in the form of the data files; empty parts are left out."""
    if isinstance(found, DocumentError):
        told: dict[str, Any] = {
            "error": found.message,
            "at": f"{found.line}:{found.column}",
            "hint": found.hint,
        }
        return {key: value for key, value in told.items() if value}
    told = {"value": found.value, "at": str(found.line)}
    if found.item is not None:
        told["item"] = found.item
    if found.notices:
        told["notices"] = [f"{notice.line}:{notice.column} {notice.message}" for notice in found.notices]
    if found.has_repeated_keys:
        told["repeated"] = [
            ["/".join(map(str, path)), f"{first.line}:{first.column}", f"{again.line}:{again.column}"]
            for path, first, again in found.locate_repeated_keys()
        ]
    return told


def typed(value: Any) -> str:
    """A text that differs whenever a value or its type does; keys may be in any order."""
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize("case", CASES)
def test_a_text_gives_the_documents_that_kubectl_sees(case: str) -> None:
    """`data/documents/CASE.yaml` holds what `CASE.expected.json` says, values and types alike."""
    text = (DATA / "documents" / f"{case}.yaml").read_bytes()
    expected = json.loads((DATA / "documents" / f"{case}.expected.json").read_text("utf-8"))
    assert typed([outcome(found) for found in parse(text, "f")]) == typed(expected)


@pytest.mark.parametrize("case", CASES)
def test_line_ends_of_windows_change_nothing(case: str) -> None:
    """CRLF files give the same values and the same positions."""
    text = (DATA / "documents" / f"{case}.yaml").read_bytes()
    with_crlf = text.replace(b"\n", b"\r\n")
    assert [outcome(found) for found in parse(with_crlf)] == [outcome(found) for found in parse(text)]


@pytest.mark.parametrize(
    ("rest", "is_read"),
    [
        ("---", False),
        ("#", False),
        (" #a", False),
        ("\n--", False),
        ("\n#", False),
        (" \n--", False),
        ("#abc", True),
        ("\n---", True),
        ("\n# a", True),
        ("\n#\u20ac", True),
        (" ---", False),
        ("  ---", False),
        ("    ", True),
    ],
)
def test_what_follows_json(rest: str, is_read: bool) -> None:
    """Behind one value comes YAML, but not in fewer than four bytes, spaces among them: these are what kubectl says."""
    first, *others = parse('{"kind": "a"}' + rest)
    assert isinstance(first, Document)
    assert all(isinstance(each, Document) for each in others) == is_read


@pytest.mark.parametrize(
    ("content", "name"),
    [
        pytest.param(CLAIM.encode(), "a", id="utf-8"),
        pytest.param(b"\xef\xbb\xbf" + CLAIM.encode(), "a", id="utf-8-with-mark"),
        pytest.param(CLAIM.encode("utf-16"), "a", id="utf-16-with-mark"),
        pytest.param(b"\xfe\xff" + CLAIM.encode("utf-16-be"), "a", id="utf-16-big-endian"),
        pytest.param(CLAIM.rstrip("\n").encode(), "a", id="no-final-line-feed"),
        pytest.param(CLAIM.replace(": a", ": é\U0001f600").encode(), "é\U0001f600", id="beyond-ascii"),
        pytest.param(CLAIM.replace("\n", "\r").encode(), "a", id="carriage-returns-alone"),
    ],
)
def test_encodings_that_kubectl_reads(content: bytes, name: str) -> None:
    """UTF-8 with or without a byte order mark, UTF-16 with one."""
    (found,) = parse(content)
    assert isinstance(found, Document)
    assert found.value["metadata"]["name"] == name


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(b"a: b\nc: \xff\n", "-:2:4: not valid UTF-8: byte 0xff", id="latin-1"),
        pytest.param(b"# \xe9t\xe9\na: b\n", "-:1:3: not valid UTF-8: byte 0xe9", id="in-a-comment"),
        pytest.param(b"\xff\xfea", "-:1:1: not valid UTF-16: byte 0x61", id="half-a-utf-16-unit"),
        pytest.param(
            b"a\0: \0b\0\n\0", "-:1:2: control characters are not allowed", id="utf-16-without-mark"
        ),
        pytest.param(
            "a: b\n\ufeffc: d\n".encode(),
            "-:2:1: a byte order mark in the middle of the file",
            id="late-mark",
        ),
    ],
)
def test_bytes_that_are_no_text(content: bytes, told: str) -> None:
    """Other encodings are an error at the first byte that gives them away."""
    (found,) = parse(content)
    assert isinstance(found, DocumentError)
    assert str(found) == told


def test_empty_texts_hold_no_documents() -> None:
    """Nothing, blanks, comments and separators alone are no error and no document."""
    for text in ("", "\n \n", "# comment", "---", "---\n---\n", "null\n", "~"):
        assert list(parse(text)) == []


def test_documents_are_counted_within_their_file() -> None:
    """Empty documents do not count, items of a list share their document's number."""
    text = f"---\n{CLAIM}---\n---\nkind: List\nitems: [{{kind: A}}, {{kind: B}}]\n---\n{CLAIM}"
    found = [document for document in parse(text) if isinstance(document, Document)]
    assert [(document.index, document.item) for document in found] == [(0, None), (1, 0), (1, 1), (2, None)]


def test_files_are_read_in_the_order_of_the_arguments(tmp_path: Path) -> None:
    """What cannot be read is reported in its place, and the rest is still read."""
    (tmp_path / "a.yaml").write_text(CLAIM)
    (tmp_path / "b.yaml").write_bytes(b"\xff")
    found = list(load([str(tmp_path / "missing.yaml"), str(tmp_path)]))
    kinds = [(type(one).__name__, Path(one.file).name) for one in found]
    assert kinds == [("DocumentError", "missing.yaml"), ("Document", "a.yaml"), ("DocumentError", "b.yaml")]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32"])
def test_encoding_that_no_mark_announces(encoding: str) -> None:
    """kubectl's message about characters does not tell users what is wrong; the hint does."""
    (found,) = parse(CLAIM.encode(encoding))
    assert isinstance(found, DocumentError)
    assert found.message == "control characters are not allowed"
    assert (
        found.hint == "this looks like UTF-16 or UTF-32 without the mark that says so: save the file as UTF-8"
    )
