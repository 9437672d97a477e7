"""Replays measured answers of kube-apiserver through the functions that the command uses, and counts what is the same.

The last line of the output is `verdict A/B answer C/B`: of B cases that say what to expect, A were accepted or refused
with the same HTTP code and C had the same answer altogether. Exit status 0, or 2 if the work could not be done.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from tests.conformance.answers import Case
from tests.conformance.cases import is_about_cel, read_cases
from tests.conformance.line_kinds import LineKind, heading, is_measured, kind_of
from tests.conformance.report import Tally, difference, table


class FileResult(NamedTuple):
    """What replaying one file came to: counts by (file, profile, verb), differences, answers, lines left out."""

    tallies: dict[tuple[str, str, str], Tally]
    differences: list[str]
    answers: list[dict[str, Any]]
    left_out: dict[str, int]


def replay_file(path: Path, *, without_cel: bool, keep: int) -> FileResult:
    """Replay one file; at most `keep` differences are described."""
    result = FileResult(defaultdict(Tally), [], [], defaultdict(int))
    for case in read_cases(path):
        kind = kind_of(case)
        reason = _left_out(case, kind, without_cel)
        if reason or kind is None:
            result.left_out[reason] += 1
            continue
        answered = _answer(kind, case)
        crashed = answered.get("reason") == "Crash"
        published = answered if crashed else kind.published(answered)
        result.answers.append({"id": case["id"], "answer": published})
        if not is_measured(case):
            result.left_out["without expect, only answered"] += 1
            continue
        comparison = kind.compare(case, answered)
        result.tallies[path.name, *heading(case)].add(comparison)
        if not comparison.answer and len(result.differences) < keep:
            result.differences.append(difference(case, comparison))
    return FileResult(dict(result.tallies), result.differences, result.answers, dict(result.left_out))


def _answer(kind: LineKind, case: Case) -> dict[str, Any]:
    """The product's answer; if it fails, that is the answer, and no other case is lost for it."""
    try:
        return kind.answer(case)
    except Exception:  # noqa: BLE001 - whatever it is, it is a difference
        return {"code": 0, "reason": "Crash", "message": traceback.format_exc()}


def _left_out(case: Case, kind: LineKind | None, without_cel: bool) -> str:
    if kind is None:
        return "not of a kind or profile that is replayed"
    about_cel = kind.name == "cel" or (kind.name == "request" and is_about_cel(case))
    return "about CEL (--without-cel)" if without_cel and about_cel else ""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    try:
        results = list(_replay(options))
    except (OSError, ValueError) as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 2
    if options.answers:
        with open(options.answers, "w", encoding="utf-8") as out:
            for result in results:
                out.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in result.answers)
    _print(options, results)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="corpus lines (JSONL)")
    parser.add_argument("--without-cel", action="store_true", help="leave out cases about CEL expressions")
    parser.add_argument("--diff", type=int, default=5, metavar="N", help="show the first N differences (5)")
    parser.add_argument(
        "--answers", metavar="OUT", help="write the answer to each case, in the form of expect"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="replay N files at a time (1)")
    return parser.parse_args(arguments)


def _replay(options: argparse.Namespace) -> Iterator[FileResult]:
    keep = {"without_cel": options.without_cel, "keep": options.diff}
    if options.jobs <= 1:
        yield from (replay_file(path, **keep) for path in options.files)
        return
    with ProcessPoolExecutor(options.jobs) as pool:
        running = [pool.submit(replay_file, path, **keep) for path in options.files]
        yield from (future.result() for future in running)


def _print(options: argparse.Namespace, results: list[FileResult]) -> None:
    tallies: dict[tuple[str, str, str], Tally] = {}
    total = Tally()
    for path, result in zip(options.files, results, strict=True):
        tallies.update(result.tallies)
        for tally in result.tallies.values():
            total.include(tally)
        for reason, count in result.left_out.items():
            print(f"{path.name}: {count} left out: {reason}")
    print(table(tallies))
    shown = [text for result in results for text in result.differences][: options.diff]
    for text in shown:
        print(f"\n{text}")
    if shown and len(shown) < total.cases - total.answers:
        print(f"\n({total.cases - total.answers - len(shown)} more differ)")
    print(f"verdict {total.verdicts}/{total.cases} answer {total.answers}/{total.cases}")


if __name__ == "__main__":
    sys.exit(main())
