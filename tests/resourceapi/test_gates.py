"""Feature gates, against what the kube-apiserver of each release says."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resourceapi import other_gates
from resourceapi.gates import DEPENDS_ON, GATES, GateError, effective, parse, stage_of, switchable
from resourceapi.measured import MEASURED
from tests.resourceapi.tables import recorded_releases, table

RELEASES: dict[str, Any] = recorded_releases()
ALL_OF_A_STAGE = {"AllAlpha", "AllBeta"}


def recorded(release: str) -> dict[str, str]:
    """By gate: its stage, its default and perhaps that it is locked, e.g. ``GA on locked``."""
    gates: dict[str, str] = RELEASES[release]["gates"]
    return {gate: text for gate, text in gates.items() if gate not in ALL_OF_A_STAGE}


def minor(release: str) -> int:
    return int(release.partition(".")[2])


@pytest.mark.parametrize("release", RELEASES)
def test_gates_are_in_the_recorded_stages(release: str) -> None:
    """Every gate of the table has the server's stage, default and lock; one that the server lacks is not there."""
    stages = {gate: stage_of(gate, minor(release)) for gate in GATES}
    described = {
        gate: f"{stage.stage} {'on' if stage.default else 'off'}{' locked' if stage.locked else ''}"
        for gate, stage in stages.items()
        if stage is not None
    }
    assert described == {gate: text for gate, text in recorded(release).items() if gate in GATES}


STAGE = re.compile(r"(ALPHA|BETA|GA|DEPRECATED) (on|off)( locked)?")


@pytest.mark.parametrize("number", MEASURED)
def test_other_gates(number: int) -> None:
    """The other gates have stages, none of them is in both tables, and what they need are gates of the release."""
    others = other_gates.of_release(number)
    assert others.stages
    assert all(STAGE.fullmatch(text) for text in others.stages.values())
    assert not others.stages.keys() & GATES.keys()
    known = GATES.keys() | others.stages.keys()
    assert others.depends_on.keys() <= others.stages.keys()
    assert {gate for needed in others.depends_on.values() for gate in needed} <= known
    assert bool(others.depends_on) is (number >= 35)


def test_dependencies_are_gates() -> None:
    """Gates depend on gates that are in the tables, not on misspelled ones."""
    assert DEPENDS_ON.keys() <= GATES.keys()
    assert {other for needed in DEPENDS_ON.values() for other in needed} <= GATES.keys()


@pytest.mark.parametrize("case", table("refusals"))
def test_settings_are_refused_in_the_server_s_words(case: dict[str, str]) -> None:
    """Settings that the server does not start with raise its text; it lists several reasons in any order."""
    release, settings = case["release"], case["settings"]
    if not case["error"]:
        effective(minor(release), parse(settings))
        return
    with pytest.raises(GateError) as raised:
        effective(minor(release), parse(settings))
    assert _reasons(str(raised.value)) == _reasons(case["error"])


def _reasons(text: str) -> Counter[str]:
    several = re.fullmatch(r"\[(.*)\]", text)
    return Counter(re.split(r", (?=cannot set|\w+ is enabled)", several[1] if several else text))


@pytest.mark.parametrize("release", RELEASES)
def test_defaults_without_settings(release: str) -> None:
    """Without settings exactly those gates are on that the release has on by default."""
    on = {gate for gate, text in recorded(release).items() if " on" in text and gate in GATES}
    assert effective(minor(release), {}) == on


@pytest.mark.parametrize("release", RELEASES)
def test_all_of_a_stage_leaves_gates_with_a_setting_of_their_own(release: str) -> None:
    """AllAlpha and AllBeta mean every gate of that stage but those that are set by themselves."""
    single = {"DRASchedulerFilterTimeout"} & set(recorded(release))
    settings = {"AllAlpha": True, "AllBeta": True, "EventedPLEG": False, **dict.fromkeys(single, False)}
    wanted = {
        gate
        for gate, text in recorded(release).items()
        if gate in GATES and ("ALPHA" in text or "BETA" in text or " on" in text)
    }
    assert effective(minor(release), settings) == wanted - single


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param({"DRAAdminAccess": True}, "unrecognized feature gate: DRAAdminAccess", id="later"),
        pytest.param(
            {"AggregatedDiscoveryEndpoint": False},
            "cannot set feature gate AggregatedDiscoveryEndpoint to false, feature is locked to true",
            id="locked",
        ),
    ],
)
def test_the_release_of_classic_dra_knows_its_own_gates(settings: dict[str, bool], message: str) -> None:
    """What came later is unknown to it."""
    with pytest.raises(GateError) as error:
        effective(30, settings)
    assert str(error.value) == message


def test_the_gate_of_classic_dra_can_be_set() -> None:
    """It was alpha; gates that have no say about DRA are taken as well."""
    assert effective(30, {}) == {"MatchLabelKeysInPodTopologySpread"}
    all_alpha = {
        gate for gate in GATES if (stage := stage_of(gate, 30)) and (stage.default or stage.stage == "ALPHA")
    }
    assert effective(30, {"AllAlpha": True, "AppArmor": False}) == all_alpha >= {"DynamicResourceAllocation"}


def test_a_profile_can_have_gates_on_by_default() -> None:
    """What a profile has on by default can still be set."""
    gate = "DRADeviceCompatibilityGroups"
    assert gate not in effective(37, {})
    assert gate in effective(37, {}, defaults_on=(gate,))
    assert gate not in effective(37, {gate: False}, defaults_on=(gate,))


@given(
    st.sampled_from(sorted(map(minor, RELEASES))),
    st.dictionaries(
        st.sampled_from([*GATES, *other_gates.of_release(37).stages, *ALL_OF_A_STAGE]),
        st.booleans(),
        max_size=6,
    ),
)
def test_settings_are_kept_or_refused(release: int, settings: dict[str, bool]) -> None:
    """Whatever is set: each gate of the table is as it was set, or the settings as a whole are refused."""
    try:
        on = effective(release, settings)
    except GateError:
        return
    own = {gate: value for gate, value in settings.items() if gate in GATES}
    assert {gate: gate in on for gate in own} == own
    assert effective(release, {gate: gate in on for gate in own} | settings) == on


@given(st.text(alphabet="ABkube:=,10 tf", max_size=20))
def test_reading_settings_never_crashes(text: str) -> None:
    """Any text is a mapping of names to booleans or a refusal."""
    try:
        settings = parse(text)
    except GateError as refusal:
        assert str(refusal)  # noqa: PT017
    else:
        assert all(type(value) is bool for value in settings.values())


def test_gates_that_can_be_turned_on() -> None:
    """Those that are on already, that the release does not know or that it locks are not among them."""
    on = effective(37, {"DRAPartitionableDevices": False})
    found = switchable(37, on)
    assert not found.keys() & on
    assert found["DRADeviceCompatibilityGroups"] == {
        "DRADeviceCompatibilityGroups",
        "DRAPartitionableDevices",
    }
    assert "DRADerivedAttributes" in found
    assert "DRADerivedAttributes" not in switchable(36, effective(36, {}))
    assert switchable(37, on - {"DRAAdminAccess"}).keys() == found.keys()
    for gate, needed in found.items():
        assert effective(37, {"DRAPartitionableDevices": False, **dict.fromkeys(needed, True)}) >= {gate}
