"""The work of validating a stranger's file: it grows with the file, and not faster."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from advice.findings import Result
from advice.hints import hints_about
from claimcheck.answers.reading import Text, read_files
from commandline.main import main
from resourceapi.recognition import item_problems, list_problems
from resourceapi.releases import Profile

CLAIM = (
    "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {{name: a{}}}\nspec: {{devices: {}}}\n"
)
ONE = "{requests: [{name: r, exactly: {deviceClassName: c}}]}"
SLICE = (
    "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {{name: s}}\nspec:\n  driver: d.example.com\n"
    "  nodeName: node\n  pool: {{name: p, generation: 1, resourceSliceCount: 1}}\n  devices: [{}]\n"
)
POD = (
    "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  resourceClaims: [{}]\n"
    "  containers: [{{name: c, image: i, resources: {{claims: [{}]}}}}]\n"
)


def _many(entry: str) -> Callable[[int], str]:
    return lambda count: ",".join(entry.replace("#", str(number)) for number in range(count))


def _with(text: str, *entries: str) -> Callable[[int], str]:
    return lambda count: text.format(*(_many(entry)(count) for entry in entries))


FILES: dict[str, Callable[[int], str]] = {
    "documents": lambda n: "---\n".join(CLAIM.format(number, ONE) for number in range(n)),
    "refused-documents": lambda n: "---\n".join(
        CLAIM.format(number, "{requests: [{}]}") for number in range(n)
    ),
    "unserved-documents": lambda n: "---\n".join(
        CLAIM.format(number, ONE).replace("/v1", "/v1alpha3") for number in range(n)
    ),
    "refused-requests": lambda n: CLAIM.format("", "{requests: [" + _many("{name: A_#}")(n) + "]}"),
    "requests-of-wrong-types": lambda n: CLAIM.format(
        "", "{requests: [" + _many("{name: 1, b: 2}")(n) + "]}"
    ),
    "same-requests": lambda n: CLAIM.format("", "{requests: [" + _many("{name: a}")(n) + "]}"),
    "unknown-fields": lambda n: CLAIM.format("", ONE) + "".join(f"f{number}: 1\n" for number in range(n)),
    "repeated-fields": lambda n: CLAIM.format("", ONE) + "x: 1\n" * n,
    "labels": lambda n: CLAIM.format(", labels: {" + _many("'-#': v")(n) + "}", ONE),
    "owners": lambda n: CLAIM.format(
        ", ownerReferences: [" + _many("{uid: a#, controller: true}")(n) + "]", ONE
    ),
    "constraints": lambda n: CLAIM.format(
        "", "{requests: [], constraints: [" + _many("{requests: [b#], matchAttribute: a/b#}")(n) + "]}"
    ),
    "comments": lambda n: CLAIM.format("", ONE) + "# claimcheck: ignore[CC001]\n" * n,
    "devices": _with(SLICE, "{name: d#}"),
    "same-devices": _with(SLICE, "{name: d}"),
    "attributes": lambda n: SLICE.format(
        "{name: d, attributes: {" + _many("'a_#-': {int: 1, bool: true}")(n) + "}}"
    ),
    "counters": lambda n: SLICE.format(
        "{name: d, consumesCounters: [" + _many("{counterSet: c#, counters: {m: {value: 1}}}")(n) + "]}"
    ),
    "claims-of-a-pod": _with(POD, "{name: x#, resourceClaimName: a#}", "{name: x#}"),
    "requests-of-a-pod": _with(
        POD, "{name: x#, resourceClaimName: a#}", "{name: x#, request: r#}, {name: x#}"
    ),
}
"""Files by the number of entries that are alike."""


def _lines_run(arguments: list[str]) -> int:
    """The lines of Python that a run of the command takes."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        main(arguments)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("name", FILES)
def test_work_grows_with_the_file(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What twice as many entries take more is twice as much, not four times."""
    file = tmp_path / "file.yaml"
    arguments = ["validate", "--no-config", "--show-all", "--notes", str(file)]
    work = []
    for count in (150, 150, 300, 600):  # the first run loads modules
        file.write_text(FILES[name](count))
        work.append(_lines_run(arguments))
    assert work[3] - work[2] <= 2.5 * (work[2] - work[1]) + work[1] / 20


def test_errors_of_a_file_share_its_lines() -> None:
    """20,000 entries that are no objects, on one line of 40 KB: the line is held once, not for each."""
    text = b'{"apiVersion": "v1", "kind": "List", "items": [5, 6]}'
    first, second = (
        each for each in read_files([Text("a.json", text)], Profile()) if isinstance(each, Result)
    )
    assert first.source is not None
    assert second.source is not None
    assert first.source.lines is second.source.lines  # type: ignore[attr-defined]


def test_hints_are_chosen_once_for_a_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of hundreds of thousands of errors most are at the same places of different objects."""
    chosen = []
    for count in (1, 50):
        hints_about.cache_clear()
        file = tmp_path / f"{count}.yaml"
        document = (
            "---\napiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nspec: {devices: [{},{},{},{}]}\n"
        )
        file.write_text(document * count)
        assert main(["validate", str(file)]) == 1
        chosen.append(hints_about.cache_info().misses)
    assert chosen[0] == chosen[1] < 30
    capsys.readouterr()


def test_what_kubectl_finds_in_lists_is_limited() -> None:
    """A hundred problems for a list, and for an item, however many unknown fields or nulls there are."""
    many = dict.fromkeys(map(str, range(150)), 1)
    listed = {"apiVersion": "v1", "kind": "ConfigMapList", "items": [], **many}
    assert len(list(list_problems(listed))) == 100
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"labels": dict.fromkeys(many)}}
    assert len(list(item_problems(item, "ConfigMap", Profile()))) == 100
