"""What becomes of objects: `cases/NAME.before.yaml` with all remarks, and the result."""

from __future__ import annotations

from pathlib import Path

import pytest

from classic.migration.mapping import Mappings, built_in
from classic.migration.migration import Migration, migrated_text
from classic.migration.remarks import ERROR
from documents import Document, parse
from resourceapi.field_errors import render
from resourceapi.manifests import displayed_name, text
from resourceapi.measured import NEWEST
from resourceapi.releases import Profile
from tests.commandline.snapshot_files import assert_snapshot
from validation.requests import create_request
from validation.server import Server

CASES = Path(__file__).with_name("cases")
NAMES = sorted(file.name.removesuffix(".before.yaml") for file in CASES.glob("*.before.yaml"))


@pytest.fixture(scope="module")
def mappings() -> Mappings:
    return built_in()


def _documents(content: str) -> list[Document]:
    return [each for each in parse(content, "before.yaml") if isinstance(each, Document)]


def migrated(content: str, mappings: Mappings) -> tuple[str, Migration]:
    """The text after migration, and what there is to say."""
    documents = _documents(content)
    migration = Migration(documents, mappings, "default")
    if not documents:
        return content, migration
    return migrated_text(documents[0].source, migration.changes), migration


def _lines(migration: Migration) -> str:
    lines = []
    for remark in migration.remarks:
        value = remark.document.value
        name = f"{text(value, 'kind')} {displayed_name(value)}"
        field = f"{render(remark.path)}: " if remark.path else ""
        lines.append(f"{remark.line}: {remark.severity}: {name!r}: {field}{remark.text}")
        lines += [f"  {remark.hint}"] if remark.hint else []
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_result_and_remarks(name: str, mappings: Mappings) -> None:
    """`NAME.after.yaml` is the result, `NAME.remarks.txt` what is said, with the lines of the input."""
    after, migration = migrated((CASES / f"{name}.before.yaml").read_text("utf-8"), mappings)
    assert_snapshot(after, CASES / f"{name}.after.yaml")
    assert_snapshot(_lines(migration), CASES / f"{name}.remarks.txt")


@pytest.mark.parametrize("name", NAMES)
def test_what_has_migrated_is_valid(name: str, mappings: Mappings) -> None:
    """The text reads as the objects that were meant, all of which an API server accepts; what has migrated does not change again."""
    after, migration = migrated((CASES / f"{name}.before.yaml").read_text("utf-8"), mappings)
    expected = [change.value for change in migration.changes if change.value is not None]
    found = [document.value for document in _documents(after)]
    server = Server(Profile(f"1.{NEWEST}"))
    for value in expected:
        assert value in found
        if str(value["apiVersion"]).startswith("resource.k8s.io/"):
            assert server.handle(create_request(value, "default")).accepted
    again, repeated = migrated(after, mappings)
    refused = {id(remark.document) for remark in migration.remarks if remark.severity == ERROR}
    if not refused:
        assert again == after
        assert not repeated.changes
