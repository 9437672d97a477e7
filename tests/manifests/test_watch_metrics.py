"""The alerts and the dashboard of `claimcheck watch` ask for the metrics that it has, and the guide explains these."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from claimcheck.watching.causes import CAUSES
from claimcheck.watching.device_counts import STATES
from claimcheck.watching.followed_cluster import FollowedCluster
from claimcheck.watching.metrics import Metrics
from resourceapi.releases import Profile

ROOT = Path(__file__).parents[2]
RULES, DASHBOARD = (
    ROOT / "manifests/watch/monitoring/rules.yaml",
    ROOT / "manifests/watch/monitoring/dashboard.json",
)
_NAME = re.compile(r"\bclaimcheck_watch_[a-z_]+")
_VALUES = re.compile(r'\b(cause|state|result)=~?"([^"]+)"')


def _exported() -> set[str]:
    metrics = Metrics(FollowedCluster("cluster", Profile(), ()), dict, dict, pool_label="pool")
    return {
        family.name + ("_total" if family.type == "counter" else "") for family in metrics.registry.collect()
    }


def _alerts() -> list[str]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule["expr"] for group in groups for rule in group["rules"]]


def _panels() -> list[str]:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def _named(expressions: list[str]) -> set[str]:
    return {name for each in expressions for name in _NAME.findall(each)}


def test_the_guide_explains_the_metrics_that_there_are() -> None:
    text = (ROOT / "docs/how-to/watch.md").read_text("utf-8")
    assert {
        line.split("`")[1] for line in text.splitlines() if line.startswith("| `claimcheck_")
    } == _exported()


def test_the_dashboard_shows_all_metrics_and_alerts_ask_for_no_others() -> None:
    assert _named(_panels()) == _exported()
    assert _named(_alerts()) <= _exported()


def _wanted() -> Iterator[tuple[str, str]]:
    for each in (*_alerts(), *_panels()):
        for label, values in _VALUES.findall(each):
            yield from ((label, value) for value in values.split("|"))


def test_they_ask_for_values_of_labels_that_there_are() -> None:
    known = {"cause": CAUSES, "state": STATES, "result": ("written", "failed")}
    assert {(label, value) for label, value in _wanted() if value not in known[label]} == set()


def test_the_dashboard_has_the_variables_that_it_uses() -> None:
    """Each variable that a panel uses is there, and each panel says what it shows."""
    dashboard = json.loads(DASHBOARD.read_text())
    variables = {each["name"] for each in dashboard["templating"]["list"]} | {"__rate_interval"}
    used = {name for each in _panels() for name in re.findall(r"\$(\w+)", each)}
    assert used <= variables
    assert all(each["title"] and each["description"] for each in dashboard["panels"])
    places = [(each["gridPos"]["x"], each["gridPos"]["y"]) for each in dashboard["panels"]]
    assert len(set(places)) == len({each["id"] for each in dashboard["panels"]}) == len(places)


def test_promtool_takes_the_rules_and_they_fire() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("there is no promtool")
    for command in (["check", "rules", str(RULES)], ["test", "rules", "watch_rules_test.yaml"]):
        done = subprocess.run(
            [promtool, *command], check=False, cwd=Path(__file__).parent, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
