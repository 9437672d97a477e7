"""What ``claimcheck migrate`` has to say: lines for people, or JSON."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from classic.migration.remarks import NOTE, SEVERITIES
from commandline.reports.escaping import complain, write_json
from resourceapi.field_errors import render
from resourceapi.manifests import displayed_name, text
from resourceapi.phrases import number

if TYPE_CHECKING:
    from classic.migration.migration import Migration
    from classic.migration.remarks import Remark
    from commandline.migrate.files import File
    from documents import DocumentError


def tell(migration: Migration, *, quiet: bool) -> None:
    """Write the remarks to standard error, a line each, and how many there are.

    :param quiet: whether notes and the numbers are left out.
    """
    for remark in migration.remarks:
        if quiet and remark.severity == NOTE:
            continue
        complain(f"{remark.document.file}:{remark.line}: {remark.severity}: {_about(remark)}")
        if remark.hint:
            complain(f"  hint: {remark.hint}")
    counts = Counter(remark.severity for remark in migration.remarks)
    objects = number(sum(change.value is not None for change in migration.changes), "object")
    dropped = sum(change.value is None for change in migration.changes)
    parts = [f"{objects} migrated", *([f"{dropped} left out"] if dropped else ())]
    parts += [number(counts[severity], severity) for severity in SEVERITIES if counts[severity]]
    if not quiet:
        complain(", ".join(parts))


def write_report(
    migration: Migration, files: list[File], problems: list[DocumentError], *, with_content: bool
) -> None:
    """Write the report as JSON to standard output.

    :param with_content: whether it has the migrated files as well.
    """
    document: dict[str, Any] = {
        "files": [
            {
                "file": file.name,
                "changed": file.text != file.migrated,
                **({"content": file.migrated} if with_content else {}),
            }
            for file in files
        ],
        "remarks": [_entry(remark) for remark in migration.remarks],
        "unreadable": [
            {"file": each.file, "line": each.line, "column": each.column, "message": each.message}
            for each in problems
        ],
        "summary": {
            "migrated": sum(change.value is not None for change in migration.changes),
            "leftOut": sum(change.value is None for change in migration.changes),
            **{
                f"{severity}s": sum(remark.severity == severity for remark in migration.remarks)
                for severity in SEVERITIES
            },
        },
    }
    write_json(document, sys.stdout)


def _entry(remark: Remark) -> dict[str, Any]:
    value = remark.document.value
    entry = {
        "file": remark.document.file,
        "line": remark.line,
        "column": remark.document.locate(remark.path).column if remark.path else 1,
        "severity": remark.severity,
        "kind": text(value, "kind"),
        "name": displayed_name(value),
        "field": render(remark.path),
        "message": remark.text,
    }
    return {**entry, "hint": remark.hint} if remark.hint else entry


def _about(remark: Remark) -> str:
    value = remark.document.value
    name = f"{text(value, 'kind')} {displayed_name(value)}".strip() or "kustomization"
    return f"{name}: {render(remark.path)}: {remark.text}" if remark.path else f"{name}: {remark.text}"
