"""Hostile and oversized texts are refused with an error, in little time and memory."""

from __future__ import annotations

import gc
import json
import time
import tracemalloc
from collections.abc import Callable

import pytest

from documents import Document, DocumentError, parse
from documents.parsing import MAX_NO_OBJECTS
from documents.tree import FREE, MAX_DEPTH, MAX_VALUES, SCALAR_WEIGHT, TIMES
from resourceapi import deep_json

MIB = 2**20
BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + level)}: &{chr(98 + level)} [{','.join(['*' + chr(97 + level)] * 10)}]\n"
    for level in range(9)
)
MERGES = (
    "a: &a {"
    + ",".join(f"k{number}: v" for number in range(1000))
    + "}\nb:\n"
    + "- <<: [*a,*a,*a,*a]\n" * 5000
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(BOMB, "document contains excessive aliasing", id="yaml-bomb"),
        pytest.param(MERGES, "document contains excessive aliasing", id="merge-bomb"),
        pytest.param(
            "a: &a [" + "x," * 300_000 + "]\nb: [*a, *a]",
            "more than 600,000 values in one document",
            id="long-aliases",
        ),
        pytest.param(
            "a: &a0 x\n" + "".join(f"b{n}: &a{n + 1} [*a{n}]\n" for n in range(150)),
            "nested more than 200 levels deep",
            id="chain-of-aliases",
        ),
        pytest.param("a: " + "[" * 10_000 + "]" * 10_000, "nested more than 200 levels deep", id="deep-flow"),
        pytest.param("- " * 10_000 + "a", "nested more than 200 levels deep", id="deep-sequences"),
        pytest.param(
            "".join(" " * depth + "a:\n" for depth in range(2000)),
            "nested more than 200 levels deep",
            id="deep-block",
        ),
        pytest.param(
            '{"a": ' + "[" * 10_000 + "]" * 10_000 + "}", "nested more than 200 levels deep", id="deep-json"
        ),
        pytest.param('{"a":' * 100_000, "nested more than 200 levels deep", id="deep-json-not-closed"),
        pytest.param(
            "a: [" + "1," * MAX_VALUES + "]", "more than 600,000 values in one document", id="many-values"
        ),
        pytest.param(
            "a:\n" + "- 1\n" * MAX_VALUES, "more than 600,000 values in one document", id="many-lines"
        ),
        pytest.param('{"a": ' + "9" * 5000 + "}", "a number has too many digits", id="long-json-number"),
        pytest.param("a: '" + "''" * MIB, "found unexpected end of stream", id="many-quotes"),
        pytest.param("{" * MIB, "nested more than 200 levels deep", id="many-braces"),
        pytest.param("a: " * MIB, "mapping values are not allowed in this context", id="many-colons"),
    ],
)
def test_what_is_beyond_all_bounds_is_refused(text: str, message: str) -> None:
    """Each with a message of its own, at a position."""
    (found,) = parse(text)
    assert isinstance(found, DocumentError)
    assert found.message == message
    assert found.line >= 1


@pytest.mark.parametrize("form", ["yaml", "flow", "json"])
def test_the_depth_is_bounded(form: str) -> None:
    """The limit itself is accepted, one level more is not."""
    for depth, accepted in ((MAX_DEPTH, True), (MAX_DEPTH + 1, False)):
        inner = depth - 1
        text = {
            "yaml": "a:\n" + "- " * inner + "b\n",
            "flow": "a: " + "[" * inner + "]" * inner,
            "json": '{"a":' + "[" * inner + "]" * inner + "}",
        }[form]
        (found,) = parse(text)
        assert isinstance(found, Document) is accepted


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: '" + "b" * 3 * MIB + "'\n", id="one-scalar"),
        pytest.param("a: |\n" + "  b\n" * (3 * MIB // 4), id="one-block"),
        pytest.param("kind: A\n" + "# note\n" * (3 * MIB // 7), id="comments"),
        pytest.param("\n" * 3 * MIB + "kind: A\n", id="blank-lines"),
        pytest.param("---\n" * (3 * MIB // 4) + "kind: A\n", id="separators"),
        pytest.param("a:\n" + "- {name: device, value: 12}\n" * (3 * MIB // 28), id="short-entries"),
        pytest.param('{"a": [' + '{"b": 1},' * (3 * MIB // 9) + "1]}", id="json"),
        pytest.param("a: " + "9" * 3 * MIB, id="digits"),
    ],
)
def test_three_mebibytes_are_read(text: str) -> None:
    """Far below any size at which a server would read it; positions in it work as well."""
    (found,) = parse(text)
    assert isinstance(found, Document)
    assert found.locate(("kind",)).line >= 1


def test_memory_for_a_bomb_is_bounded() -> None:
    """Nothing of a bomb is built before it is refused."""
    tracemalloc.start()
    try:
        list(parse(BOMB))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * MIB


ALIASES: dict[str, Callable[[int], str]] = {
    # each n aliases, which the file is as long as
    "text": lambda n: f"a: &a '{'x' * 100_000}'\nb: [{','.join(['*a'] * n)}]",
    "key": lambda n: f"a: &a {'x' * 1_000}\nb: [{','.join(['{? *a : 1}'] * n)}]",
    "merge": lambda n: f"a: &a {{{'x' * 1_000}: 1}}\nb: [{','.join(['{<<: *a}'] * n)}]",
    "list": lambda n: f"a: &a [{'[],' * 1_000}]\nb: [{','.join(['*a'] * n)}]\nc: [{'1,' * n}]",
    "nested": lambda n: f"a: &a '{'x' * 1_000}'\nb: &b [{'*a,' * 90}]\nc: [{'*b,' * n}]\nd: [{'1,' * n}]",
    "documents": lambda n: f"kind: &a '{'x' * 10_000}'\nb: [{'*a,' * 30}]\n---\n" * n,
}
"""Texts in which aliases stand for much more than is written, by their number."""


@pytest.mark.parametrize("form", ALIASES)
def test_what_aliases_add_is_limited(form: str) -> None:
    """Whatever they refer to and wherever: 33,000 aliases of a text of 100,000 characters took more than 6 GiB."""
    text = ALIASES[form]({"text": 33_000, "documents": 100}.get(form, 5_000))
    refused = [found for found in parse(text) if isinstance(found, DocumentError)]
    lines = text.split("\n")
    assert {error.message for error in refused} == {"aliases (*name) make the file more than is read"}
    assert all(lines[error.line - 1][error.column - 1] == "*" for error in refused)


def test_a_file_may_stand_for_so_much() -> None:
    """The limit grows with the file: at the limit it is read, one character shorter it is refused."""
    size, count = 50_000, 100
    text = f"kind: &a '{'x' * size}'\nb: [{','.join(['*a'] * count)}]\n#"
    missing = count * (SCALAR_WEIGHT + size) - FREE - TIMES * len(text)
    enough = text + "#" * -(-missing // TIMES)
    assert isinstance(next(iter(parse(enough))), Document)
    assert isinstance(next(iter(parse(enough[:-1]))), DocumentError)


def test_many_json_values_take_linear_time() -> None:
    """Each is looked through alone: 60,000 of them, 840 KB,, took 39 s before."""
    begin = time.process_time()
    assert len(list(parse('{"apiVersion": "v1", "kind": "A"}\n' * 100_000))) == 100_000
    assert time.process_time() - begin < 60


def test_many_directives_take_linear_time() -> None:
    """None is accepted, as to kubectl; libyaml compares each with all before it."""
    begin = time.process_time()
    (found,) = parse("".join(f"%TAG !a{number}! tag:x,{number}:\n" for number in range(50_000)) + "a: b\n")
    assert isinstance(found, DocumentError)
    assert (found.message, found.line) == ("did not find expected <document start>", 50_001)
    assert time.process_time() - begin < 60


def test_the_garbage_collector_is_left_as_it_was() -> None:
    """It pauses while a large text is read, also when that fails."""
    assert gc.isenabled()
    for text in ("a: [" + "1," * 100_000 + "1]", "a: [" + "1," * 100_000):
        list(parse(text))
        assert gc.isenabled()


def test_many_small_documents_take_linear_time() -> None:
    """Ten thousand documents in one file, each with a position: no search from the begin of the file."""
    begin = time.process_time()
    found = list(parse("kind: A\n---\n" * 10_000))
    assert [document.line for document in found] == list(range(1, 20_001, 2))
    assert time.process_time() - begin < 60


@pytest.mark.parametrize("broken", ["[", "a", "kind: A", "apiVersion: v1", "kind: ''", "{}"])
def test_documents_that_are_no_objects_are_limited(broken: str) -> None:
    """150,000 of them, 840 KB, took 42 s and 590 MiB; a file of objects may have any number."""
    good = "---\napiVersion: v1\nkind: A\n"
    enough = f"---\n{broken}\n" * MAX_NO_OBJECTS + good
    assert len(list(parse(enough))) == MAX_NO_OBJECTS + 1
    *_, last = found = list(parse(enough + f"---\n{broken}\n" + good))
    assert len(found) == MAX_NO_OBJECTS + 2
    assert isinstance(last, DocumentError)
    assert last.message == "more than 10,000 documents are no Kubernetes objects: what follows is not read"
    assert last.line > 2 * MAX_NO_OBJECTS


def test_items_that_are_no_objects_are_limited() -> None:
    """A list of 300,000 empty items is 900 KB."""
    found = list(parse('{"apiVersion": "v1", "kind": "List", "items": [' + "{}," * 300_000 + "{}]}"))
    assert len(found) == MAX_NO_OBJECTS + 1
    assert isinstance(found[-1], DocumentError)


@pytest.mark.parametrize(
    "line",
    [
        "a: <>&<>&<>&<>&",
        "a: 1e20",
        "a: \u2028\u2028\u2028\u2028",
        "a:",
        '"<": "\\a\\a\\a"',
        "? <\n:",
        "a: 0x7fffffffffffffff",
        "a: \U0001f600",
    ],
)
def test_small_objects_are_small_as_json(line: str) -> None:
    """What counts as small without being counted has no more than 84,000 bytes as JSON, however it is written."""
    lines = "".join(
        f"- {{{line.replace(chr(10), ' ')} }}\n" if line[0] == "?" else f"- {line}\n"
        for _ in range(12_000 // (len(line) + 3))
    )
    documents = [
        *parse(f"a:\n{lines}"[:11_990].rpartition("\n")[0]),
        *parse(json.dumps({"a": ["<"] * 2_390})),
    ]
    found = [each for each in documents if isinstance(each, Document) and each.is_small]
    assert found
    for each in found:
        assert deep_json.most_bytes(each.value) <= 84_000
    for text in ("a: &a [1]\nb: *a\n", "a: " + "x" * 12_000):
        [large] = parse(text)
        assert isinstance(large, Document)
        assert not large.is_small
