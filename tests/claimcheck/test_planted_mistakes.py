"""A typing mistake is named with what was meant: in the first line of `explain`, and by `cel` on the devices of the cluster."""

from __future__ import annotations

import json
import re
from itertools import takewhile
from pathlib import Path

import pytest

from claimcheck import Cluster
from claimcheck.answers.explain import Answer, explain_all
from claimcheck.inputs import values_in
from commandline.explain import text_report
from commandline.main import main
from tests.claimcheck.planted_mistakes import IN_LABELS, IN_SELECTORS, KINDS, Planted, planted
from tests.claimcheck.random_inventories import GATES

#: Of each kind, and how many of all are named at least, in percent.
EACH, LEAST = 5, 95


def answer(found: Planted) -> Answer:
    *cluster, pod = found.objects
    known = Cluster.from_objects(cluster, feature_gates=dict.fromkeys(GATES, True))
    return explain_all(known.scenario(list(values_in([pod], known.profile))))


def first_line(found: Planted) -> str:
    return next(iter(text_report.lines(answer(found))))


def is_named(line: str, found: Planted) -> bool:
    before, _, after = line.partition(found.wrong)
    return bool(before) and found.meant in after


def test_first_line() -> None:
    """What is misspelt, and behind it what there is."""
    asked = [(kind, planted(kind, seed)) for kind in KINDS for seed in range(EACH)]
    unnamed = [(kind, found) for kind, found in asked if not is_named(first_line(found), found)]
    assert len(unnamed) * 100 <= len(asked) * (100 - LEAST), unnamed


@pytest.mark.parametrize("kind", IN_LABELS)
def test_labels_are_corrected(kind: str) -> None:
    """The first change that is offered is the label that nodes have, and with it the pod fits on those."""
    for found in (planted(kind, seed) for seed in range(EACH)):
        (explained,) = answer(found).explained
        assert explained.explanation is not None
        remedy = explained.explanation.remedies[0]
        assert re.fullmatch(rf"with \S+.* \S*{found.meant}\S* instead of \S*{found.wrong}\S*", remedy.text)
        text = json.dumps(found.objects[-1]).replace(f'"{found.wrong}"', f'"{found.meant}"')
        (fitting,) = answer(found._replace(objects=[*found.objects[:-1], json.loads(text)])).explained
        assert fitting.explanation is not None
        assert remedy.nodes == tuple(fitting.explanation.fitting)


def hints(found: Planted, inventory: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What `cel` says before it lists devices, of each selector of the claim that matches none."""
    claim = next(each for each in found.objects if each["kind"] == "ResourceClaim")
    inventory.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": found.objects}))
    said = []
    for selector in claim["spec"]["devices"]["requests"][0]["exactly"]["selectors"]:
        if main(["cel", selector["cel"]["expression"], "--inventory", str(inventory)]):
            report = capsys.readouterr().out.splitlines()
            before = takewhile(lambda line: not line.startswith(("no match", "failed")), report)
            said += [line for line in before if line.startswith("hint: ")]
    return said


def test_cel(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """So does `cel` for what is in expressions."""
    asked = [(kind, planted(kind, seed)) for kind in IN_SELECTORS for seed in range(EACH)]
    unnamed = [
        (kind, found)
        for kind, found in asked
        if not any(is_named(each, found) for each in hints(found, tmp_path / "cluster.json", capsys))
    ]
    assert len(unnamed) * 100 <= len(asked) * (100 - LEAST), unnamed
