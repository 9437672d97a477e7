"""Asks real API servers what the cases of the rules expect, and writes their answers into the case files.

python -m tests.validation.record [--check] [AREA ...]

Needs the binaries of `make e2e`. Answers that a server never gave (`source`) are left as they are. With `--check`
nothing is written: the answers that are there are compared.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from typing import Any

import yaml

from tests.conformance.answers import Case, holds_pods
from tests.conformance.profiles import PROFILES
from tests.e2e.control_plane import ApiServer, control_plane
from tests.e2e.prober import Prober
from tests.validation.patches import changes
from tests.validation.profiles import known_profile
from tests.validation.rule_cases import CASES, PROFILE_SEPARATOR, RuleCase, areas, summary

# The servers that store the objects, by release: each has all its gates on.
_STORING = {PROFILES[name].release: name for name in PROFILES if name.endswith("-all")}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.validation.record", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument(
        "--release", action="append", help="ask only servers of this release, e.g. 1.34.4; may be repeated"
    )
    parser.add_argument("--missing", action="store_true", help="ask only what has no answer yet")
    parser.add_argument("areas", nargs="*", metavar="AREA", help="only these files (without .yaml)")
    options = parser.parse_args(arguments)
    contents = {
        name: content for name, content in areas().items() if not options.areas or name in options.areas
    }
    cases = {
        name: [RuleCase(name, entry, content.get("defaults", {})) for entry in content["cases"]]
        for name, content in contents.items()
    }
    asked = [case for group in cases.values() for case in group if case.measured]
    answers, problems = _ask(asked, missing=options.missing, releases=options.release)
    if options.check:
        problems += _differences(asked, answers, options.release)
    else:
        for name, content in contents.items():
            for case in cases[name]:
                if case.measured:
                    case.entry["expect"] = _grouped(case, answers)
            _write(name, content)
    print("\n".join(problems), file=sys.stderr)
    return 1 if problems else 0


Answers = dict[tuple[str, str], Any]


def _ask(cases: list[RuleCase], *, missing: bool, releases: list[str] | None) -> tuple[Answers, list[str]]:
    """By case and profile the answer in short; and what went wrong."""
    answers: Answers = {}
    problems: list[str] = []
    wanted = [(case, profile) for case in cases for profile in case.profiles]
    kept = [
        (case, profile)
        for case, profile in wanted
        if (missing and case.expected(profile) is not None) or not _is_asked(profile, releases)
    ]
    answers.update({(case.id, profile): case.expected(profile) for case, profile in kept})
    wanted = [pair for pair in wanted if pair not in kept]
    profiles = {profile: known_profile(profile) for _, profile in wanted}
    for release in sorted({settings.release for settings in profiles.values()}):
        with contextlib.ExitStack() as stack:
            storing = _STORING.get(release)
            server = stack.enter_context(control_plane(storing)) if storing else None
            for profile in sorted(name for name in profiles if profiles[name].release == release):
                requests = [case.request(profile) for case, other in wanted if other == profile]
                for case in _recorded(profile, requests, server):
                    answers[case["id"], profile] = summary(case, case["expect"])
                problems += [
                    f"{request['id']}: {profile}: no answer"
                    for request in requests
                    if (request["id"], profile) not in answers
                ]
                print(f"{profile}: {len(requests)} cases", file=sys.stderr)
    return answers, problems


def _is_asked(profile: str, releases: list[str] | None) -> bool:
    return releases is None or known_profile(profile).release in releases


def _recorded(profile: str, requests: list[Case], storing: ApiServer | None) -> list[Case]:
    """The cases with their answers, but those whose object could not be stored as the case has it."""
    with contextlib.ExitStack() as stack:
        if storing is not None and profile == storing.profile:
            server = storing
        else:
            server = stack.enter_context(control_plane(profile, storing.etcd if storing else ""))
        # One at a time: the cases' objects share their names.
        recorded = list(Prober(server, storing).record(requests, threads=1))
    asked = {request["id"]: request for request in requests}
    good = []
    for case in recorded:
        wanted = _comparable(asked[case["id"]].get("old"))
        stored = _comparable(case.get("old"))
        differing = changes(wanted, _without_defaults(stored, wanted) if holds_pods(case["kind"]) else stored)
        if differing:
            print(f"{case['id']}: {profile}: stored otherwise: {differing}", file=sys.stderr)
        else:
            good.append({**case, "object": asked[case["id"]]["object"]})
    return good


def _comparable(old: Any) -> Any:
    """A stored object without what comes from its being deleted."""
    if not old:
        return old
    old = _without_nulls(old)
    metadata = {
        key: value
        for key, value in old["metadata"].items()
        if key not in ("finalizers", "deletionTimestamp", "deletionGracePeriodSeconds")
    }
    return {**old, "metadata": metadata}


def _without_nulls(stored: Any) -> Any:
    """Servers up to 1.34 write a slice without devices with a null."""
    if isinstance(stored, dict):
        return {key: _without_nulls(value) for key, value in stored.items() if value is not None}
    return [_without_nulls(item) for item in stored] if isinstance(stored, list) else stored


def _without_defaults(stored: Any, wanted: Any) -> Any:
    """What a server has stored without what it has added itself."""
    if isinstance(stored, dict) and isinstance(wanted, dict):
        return {key: _without_defaults(stored[key], wanted[key]) for key in wanted if key in stored}
    if isinstance(stored, list) and isinstance(wanted, list) and len(stored) == len(wanted):
        return list(map(_without_defaults, stored, wanted))
    return stored


def _differences(cases: list[RuleCase], answers: Answers, releases: list[str] | None) -> list[str]:
    return [
        f"{case.id}: {profile}: recorded {case.expected(profile)}, now {answers.get((case.id, profile))}"
        for case in cases
        for profile in case.profiles
        if _is_asked(profile, releases) and case.expected(profile) != answers.get((case.id, profile))
    ]


def _grouped(case: RuleCase, answers: Answers) -> dict[str, Any]:
    """Answers by server, one entry for those that agree."""
    groups: list[tuple[list[str], Any]] = []
    for profile in case.profiles:
        answer = answers.get((case.id, profile))
        if answer is None:
            continue
        same = next((names for names, other in groups if other == answer), None)
        if same is not None:
            same.append(profile)
        else:
            groups.append(([profile], answer))
    return {PROFILE_SEPARATOR.join(names): answer for names, answer in groups}


def _write(name: str, content: Any) -> None:
    for entry in content["cases"]:
        for answer in entry.get("expect", {}).values():
            answer.update({key: _Lines(texts) for key, texts in answer.items() if isinstance(texts, list)})
    text = yaml.dump(
        content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000, default_flow_style=None
    )
    (CASES / f"{name}.yaml").write_text(text, encoding="utf-8")


class _Lines(list[str]):
    """Texts to be written one to a line."""


class _Dumper(yaml.SafeDumper):
    """Writes no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(
    _Lines, lambda dumper, texts: dumper.represent_sequence("tag:yaml.org,2002:seq", texts, flow_style=False)
)


if __name__ == "__main__":
    sys.exit(main())
