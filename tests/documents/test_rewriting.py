"""Documents that change or fall away in a text, and the comments that stay."""

from __future__ import annotations

import pytest

from documents import Document, parse
from documents.comments import comments_of
from documents.rewriting import rewrite

FIRST = "# licence\n# of the file\napiVersion: v1\nkind: A # a\n"
SECOND = "# about b\napiVersion: v1\nkind: B\n"
THIRD = "apiVersion: v1\nkind: C\n"


def _documents(text: str) -> list[Document]:
    return [each for each in parse(text) if isinstance(each, Document)]


def _without(text: str, *dropped: int) -> str:
    documents = _documents(text)
    return rewrite(documents[0].source, [], [documents[index] for index in dropped])


@pytest.mark.parametrize(
    ("dropped", "rest"),
    [
        ((0,), f"# licence\n# of the file\n{SECOND}---\n{THIRD}"),
        ((1,), f"{FIRST}---\n{THIRD}"),
        ((2,), f"{FIRST}---\n{SECOND}"),
        ((0, 1), f"# licence\n# of the file\n{THIRD}"),
        ((1, 2), FIRST),
        ((0, 1, 2), "# licence\n# of the file\n"),
    ],
)
@pytest.mark.parametrize("separator", ["---\n", "--- # next\n"])
@pytest.mark.parametrize("start", ["", "---\n"])
def test_documents_fall_away(dropped: tuple[int, ...], rest: str, separator: str, start: str) -> None:
    """With one separator each, wherever they are; what stands above the first one may be about the file."""
    text = start + separator.join([FIRST, SECOND, THIRD])
    after = _without(text, *dropped).removeprefix("---\n")
    assert after == rest.replace("---\n", separator)


def test_without_line_at_the_end() -> None:
    """As editors leave it."""
    assert _without(f"{FIRST}---\n{THIRD}".rstrip("\n"), 0) == "# licence\n# of the file\n" + THIRD.rstrip(
        "\n"
    )
    assert _without(f"{FIRST}---\n{THIRD}".rstrip("\n"), 1) == FIRST


def test_windows_lines() -> None:
    """They stay."""
    text = f"{FIRST}---\n{SECOND}---\n{THIRD}".replace("\n", "\r\n")
    assert _without(text, 1) == f"{FIRST}---\n{THIRD}".replace("\n", "\r\n")


def test_items_change_and_fall_away() -> None:
    """The others keep their text."""
    text = "kind: List\nitems:\n- a: 1 # one\n- b: 2 # two\n# about three\n- c: 3 # three\n"
    first, second, _ = documents = _documents(text)
    after = rewrite(first.source, [(documents[2], {"c": 4})], [second], keeps_comments=True)
    assert after == "kind: List\nitems:\n- a: 1 # one\n# about three\n- c: 4 # three\n"
    assert rewrite(first.source, [], documents) == "kind: List\nitems: []\n"


def test_comments_of_what_falls_away() -> None:
    """They stand above what comes in its place, if that is wanted."""
    text = "spec:\n  # the class\n  name: 'a # b' # see the wiki\n  other: 1\n"
    document = _documents(text)[0]
    value = {"spec": {"devices": [], "other": 1}}
    after = rewrite(document.source, [(document, value)], keeps_comments=True)
    assert after == "spec:\n  # the class\n  # see the wiki\n  devices: []\n  other: 1\n"
    assert "wiki" not in rewrite(document.source, [(document, value)])


def test_scalars_of_lists_keep_their_comments() -> None:
    """Where a mapping takes their place."""
    document = _documents("names:\n- 'a' # one\n- b\n")[0]
    value = {"names": [{"name": "a"}, {"name": "b"}]}
    after = rewrite(document.source, [(document, value)], keeps_comments=True)
    assert after == "names:\n- name: a # one\n- name: b\n"


def test_comments_move_to_another_document() -> None:
    """Above its first line, below what stands there; those above the first document stay where they are."""
    first, second, third = _documents(f"{FIRST}---\n{SECOND}---\n{THIRD}")
    assert comments_of(first) == ["# a"]
    assert comments_of(second) == ["# about b"]
    above = {third.chunk.start: [*comments_of(first), *comments_of(second)]}
    after = rewrite(first.source, [(third, {"kind": "D"})], [first, second], above=above)
    assert after == "# licence\n# of the file\n# a\n# about b\nkind: D\n"


def test_no_comments_in_json() -> None:
    """JSON has none, and gets none."""
    text = '{"kind": "A"}\n{"kind": "# B"}\n'
    first, second = _documents(text)
    assert comments_of(second) == []
    after = rewrite(first.source, [(first, {"kind": "C"})], [second], above={0: ["# x"]})
    assert [each.value for each in _documents(after)] == [{"kind": "C"}]
