"""Which files the command line's arguments stand for, and what happens to those that cannot be read."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from documents import DocumentError, load
from documents.finding import find_files
from documents.source import MAX_FILE_BYTES, read_file


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Manifests at two levels among hidden and other files."""
    for name in (
        "b.yaml",
        "a.yml",
        "c.json",
        "notes.txt",
        ".hidden.yaml",
        "sub/d.yaml",
        ".git/e.yaml",
        "sub-2/f.yaml",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("kind: A\n")
    return tmp_path


def names(found: list[str | DocumentError], root: Path) -> list[str]:
    return [os.path.relpath(one, root) if isinstance(one, str) else str(one) for one in found]


def test_a_directory_stands_for_its_manifests(tree: Path) -> None:
    """Subdirectories included, sorted by path, hidden files and directories left out."""
    expected = ["a.yml", "b.yaml", "c.json", "sub/d.yaml", "sub-2/f.yaml"]
    assert names(list(find_files([str(tree)])), tree) == expected


def test_a_file_that_is_named_may_have_any_name(tree: Path) -> None:
    """Only directories are searched by extension."""
    arguments = [str(tree / "notes.txt"), str(tree / ".hidden.yaml")]
    assert list(find_files(arguments)) == arguments


def test_addresses_are_not_fetched() -> None:
    """As kubectl would: the error says what to do instead."""
    (found,) = load(["https://example.com/claim.yaml"])
    assert isinstance(found, DocumentError)
    assert found.message == "addresses are not fetched: fetch the text, and give it to standard input (-)"


def test_a_file_is_read_once(tree: Path) -> None:
    """Even if it is named and in a directory that is named."""
    found = names(list(find_files([str(tree / "b.yaml"), str(tree), str(tree)])), tree)
    assert found == ["b.yaml", "a.yml", "c.json", "sub/d.yaml", "sub-2/f.yaml"]


def test_a_directory_without_manifests_is_an_error(tmp_path: Path) -> None:
    """A mistyped directory must not look like a valid one."""
    (found,) = find_files([str(tmp_path)])
    assert isinstance(found, DocumentError)
    assert str(found) == f"{tmp_path}: no .yaml, .yml, .json files in this directory"


def test_links_to_files_count_and_links_to_directories_do_not(tree: Path) -> None:
    """So that a link to a parent does not go round in circles."""
    (tree / "sub" / "up").symlink_to(tree)
    (tree / "sub" / "z.yaml").symlink_to(tree / "sub" / "d.yaml")
    assert names(list(find_files([str(tree / "sub")])), tree) == ["sub/d.yaml", "sub/z.yaml"]


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        pytest.param("missing.yaml", "no such file or directory", id="missing"),
        pytest.param("a.yaml/b", "not a directory", id="below-a-file"),
        pytest.param("nul\0.yaml", "no such file or directory", id="nul-in-the-name"),
        pytest.param("x" * 300, "file name too long", id="name-too-long"),
    ],
)
def test_what_cannot_be_read_is_an_error_without_position(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argument: str, reason: str
) -> None:
    """The error names the file as the user did."""
    (tmp_path / "a.yaml").write_text("kind: A\n")
    monkeypatch.chdir(tmp_path)
    (found,) = load([argument])
    assert isinstance(found, DocumentError)
    assert (found.file, found.line, found.column, found.message) == (argument, 0, 0, reason)
    assert str(found) == f"{argument}: {reason}"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    """Said as what it is."""
    path = tmp_path / "a.yaml"
    path.write_text("kind: A\n")
    path.chmod(0)
    (found,) = load([str(path)])
    assert isinstance(found, DocumentError)
    assert found.message == "permission denied"


def test_the_size_of_a_file_is_bounded(tmp_path: Path) -> None:
    """One byte more than the limit is refused, the limit itself is read."""
    path = tmp_path / "a.yaml"
    with path.open("wb") as file:
        file.truncate(MAX_FILE_BYTES)
    assert len(read_file(str(path))) == MAX_FILE_BYTES
    with path.open("ab") as file:
        file.write(b"\n")
    with pytest.raises(DocumentError, match="larger than 32 MiB"):
        read_file(str(path))


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    """A process substitution has no size to go by."""
    reading, writing = os.pipe()
    os.write(writing, b"kind: A\n")
    os.close(writing)
    assert read_file(f"/dev/fd/{reading}") == b"kind: A\n"
    os.close(reading)


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for kubectl."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"kind: A\n---\nkind: B\n")))
    assert [found.file for found in load(["-"])] == ["-", "-"]
