"""A typing mistake is named in the first line of `explain`, with what was meant."""

from __future__ import annotations

from claimcheck import Cluster
from claimcheck.answers.explain import explain_all
from claimcheck.inputs import values_in
from commandline.explain import text_report
from tests.claimcheck.planted_mistakes import KINDS, Planted, planted
from tests.claimcheck.random_inventories import GATES

#: Of each kind, and how many of all are named at least, in percent: words of three letters are taken for no others.
EACH, LEAST = 5, 95


def first_line(found: Planted) -> str:
    *cluster, pod = found.objects
    known = Cluster.from_objects(cluster, feature_gates=dict.fromkeys(GATES, True))
    return next(iter(text_report.lines(explain_all(known.scenario(list(values_in([pod], known.profile)))))))


def is_named(found: Planted) -> bool:
    before, _, after = first_line(found).partition(found.wrong)
    return bool(before) and found.meant in after


def test_first_line() -> None:
    """What is misspelt, and behind it what there is."""
    asked = [(kind, seed) for kind in KINDS for seed in range(EACH)]
    unnamed = [(kind, seed) for kind, seed in asked if not is_named(planted(kind, seed))]
    assert len(unnamed) * 100 <= len(asked) * (100 - LEAST), unnamed
