"""Whatever the manifests hold, the command answers: no exception from hints, lints or reports."""

from __future__ import annotations

import io
import json
from pathlib import Path
from pickle import dumps, loads
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advice.lints.facts import REFERRED, Facts
from claimcheck.answers.cluster_context import ClusterContext, Knowledge
from claimcheck.answers.handling import ASK, handling_of
from claimcheck.answers.outcome import Outcome
from claimcheck.answers.validate.review import Reviewer
from commandline.reports import FORMATS, write
from commandline.validate.parallel import portable
from documents import Document, parse
from resourceapi.releases import MODERN_RELEASES, Profile
from validation.server import Server

EXAMPLES = Path(__file__).parents[3] / "manifests" / "examples"
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        ["", "gpu", "a/b", "40GiB", "All", "v1", "resource.k8s.io/v1", "ResourceClaim", "\x00é\u2028"]
    ),
    st.text(max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
PROFILES = [Profile(release) for release in MODERN_RELEASES]


def _originals() -> list[dict[str, Any]]:
    found = []
    for file in sorted(EXAMPLES.rglob("*.yaml")):
        found += [item.value for item in parse(file.read_bytes(), str(file)) if isinstance(item, Document)]
    return found


ORIGINALS = _originals()


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """An example with up to three places changed: a value replaced, removed, or put under another key."""
    manifest: dict[str, Any] = json.loads(json.dumps(draw(st.sampled_from(ORIGINALS))))
    for _ in range(draw(st.integers(1, 3))):
        _mutate(manifest, draw)
    return manifest


def _mutate(value: Any, draw: st.DrawFn) -> None:
    """Walk down some way, and change what is there."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = draw(st.sampled_from(keys))
        if isinstance(value[key], (dict, list)) and value[key] and draw(st.integers(0, 4)):
            value = value[key]
            continue
        change = draw(st.sampled_from(("replace", "remove", "rename")))
        if change == "replace":
            value[key] = draw(VALUES)
        elif change == "remove":
            del value[key]
        elif isinstance(value, dict):
            value[draw(st.sampled_from(["spec", "name", "exactly", "cel", str(key).upper(), "x"]))] = (
                value.pop(key)
            )
        return


# Deeply nested expressions raise the recursion limit.
@pytest.mark.filterwarnings("ignore:The recursion limit will not be reset")
@settings(max_examples=300, deadline=None)
@given(st.lists(mutated(), min_size=1, max_size=3), st.sampled_from(PROFILES), st.booleans())
def test_no_manifest_is_too_strange(
    manifests: list[dict[str, Any]], profile: Profile, inventory: bool
) -> None:
    """Every document gets a result or is skipped, and every report can be written, also by another process."""
    text = "".join(f"{json.dumps(manifest)}\n" for manifest in manifests)
    outcome, context = Outcome(profile.name), ClusterContext()
    facts = Facts(profile, complete=REFERRED if inventory else ())
    reviewer = Reviewer(Server(profile, namespaces=context.namespaces), Knowledge(context, facts), outcome)
    documents = [found for found in parse(text, "file.json") if isinstance(found, Document)]
    for document in documents:
        if handling_of(document.value) == ASK:
            facts.learn(document.value)
    for document in documents:
        reviewer.review(document, handling_of(document.value))
    assert len(outcome.results) + len(outcome.skipped) == len(documents)
    reports = {format: _report(format, outcome) for format in FORMATS}
    elsewhere = loads(dumps(portable(outcome, lines=True)))
    assert {format: _report(format, elsewhere) for format in FORMATS} == reports


def _report(format: str, outcome: Outcome) -> str:
    stream = io.StringIO()
    write(format, outcome, stream)
    return stream.getvalue()
