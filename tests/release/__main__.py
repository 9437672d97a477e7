"""Records what a release answers, and says what is to be done about it: `make release VERSION=1.38.0`.

Builds the control plane of the release where it is missing, asks it about itself and puts requests to it: the cases of the
rules, and random ones. Writes the data files of the release (`tests/release/data.py`) and nothing else, and prints what differs from
the nearest release that the product knows, as a list of work. It can be run again at any time: what the server has
answered is kept in the user's cache (`--again` forgets it), so that only the list is made anew.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from subprocess import CalledProcessError

from resourceapi import other_gates
from resourceapi.measured import MEASURED, MODERN_MINORS
from tests.conformance.answers import Case
from tests.conformance.comparison import Comparison, compare
from tests.conformance.profiles import MODERN as MODERN_PROFILES
from tests.conformance.profiles import PROFILES, ServerProfile, of_release
from tests.conformance.replay import answer
from tests.corpus.cases import cases
from tests.e2e.binaries import binaries
from tests.e2e.control_plane import control_plane
from tests.e2e.prober import Prober
from tests.release import asking, data, work
from tests.release.data import Record
from tests.validation import record as rule_answers
from tests.validation.rule_cases import rule_cases

MODERN = frozenset(MODERN_PROFILES)
_VERSION = re.compile(r"1\.\d+\.\d+")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    minor = int(options.version.split(".")[1])
    near = nearest(minor, [each for each in MODERN_MINORS if _profiles_of(each)])
    kept = _cache() / options.version
    if options.again:
        shutil.rmtree(kept, ignore_errors=True)
    _tell(f"1/4 kube-apiserver {options.version}")
    try:
        binaries(options.version)
    except (CalledProcessError, OSError) as error:
        _tell(f"kube-apiserver {options.version} cannot be built; is there such a release? {error}")
        return 2
    kept.mkdir(parents=True, exist_ok=True)
    _tell("2/4 what the server says of itself")
    record = _record(options.version, kept)
    for path in data.write(f"1.{minor}", record):
        _tell(f"    {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")
    _tell(
        f"3/4 its answers to the cases of the rules, and to {options.count} random requests, in two profiles"
    )
    compared = list(_compared(options, record, near, kept))
    _tell("4/4 what the cases of the rules expect of it")
    if MEASURED.get(minor) == int(options.version.split(".")[2]):
        rule_answers.main(["--release", options.version, *([] if options.again else ["--missing"])])
        data.write_refusals(
            f"1.{minor}", lambda settings: asking.refusal(options.version, settings), again=options.again
        )
    else:
        _tell(f"    once resourceapi/measured.py says {minor}: {options.version.split('.')[2]}")
    own, others = data.by_table(record)
    tasks = [*work.of_record(minor, near, record.release | own, record.fields)]
    tasks += work.unknown_gates(others["stages"], other_gates.of_release(near).stages)
    tasks += work.of_answers((case, result) for case, result in compared if not result.answer)
    same = sum(result.answer for _, result in compared)
    print(
        f"{options.version}, compared with what is known of 1.{near}: {same} of {len(compared)} answers are the same\n"
    )
    print(work.printed(tasks))
    return 0


def nearest(minor: int, known: Iterable[int]) -> int:
    """The release to compare with: itself, else the nearest one, of two the later."""
    return min(known, key=lambda each: (abs(each - minor), -each))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.release",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("version", type=_version, help="a patch release, such as 1.38.0")
    parser.add_argument(
        "--count", type=int, default=2000, metavar="N", help="random requests in each profile"
    )
    parser.add_argument("--seed", default="release", help="of the random requests: any text")
    parser.add_argument(
        "--again", action="store_true", help="forget what the server has answered, and ask again"
    )
    return parser.parse_args(arguments)


def _version(text: str) -> str:
    if not _VERSION.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text} is no release such as 1.38.0")
    return text


def _cache() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "claimcheck" / "releases"


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _record(version: str, kept: Path) -> Record:
    """What the server says of itself: as it was kept, else asked now."""
    file = kept / "record.json"
    if not file.exists():
        record = asking.record_of(version, lambda text: _tell(f"    {text}"))
        file.with_suffix(".new").write_text(json.dumps(record._asdict()))
        file.with_suffix(".new").replace(file)
    return Record(**json.loads(file.read_text()))


def _compared(
    options: argparse.Namespace, record: Record, near: int, kept: Path
) -> Iterator[tuple[Case, Comparison]]:
    """Each request with the server's answer, compared with the answer of release 1.`near` here."""
    servers = dict(zip(_profiles_of(near), of_release(options.version, record.release), strict=True))
    for profile, server in servers.items():
        asked = {
            "rules": [
                case.request(profile)
                for case in rule_cases()
                if case.measured and not MODERN.isdisjoint(case.profiles)
            ],
            "random": list(cases(profile, options.seed, options.count)),
        }
        for name, requests in asked.items():
            served = [case for case in requests if _serves(server, case)]
            file = kept / f"{name}-{server.name}.jsonl"
            storing = servers[_profiles_of(near)[1]] if name == "rules" else server
            for case in _answered(server, storing, profile, served, file):
                yield case, compare(case, answer(case))


def _profiles_of(minor: int) -> list[str]:
    """The profiles of a release with default gates and with all; none if its data files are still to be written."""
    every = [name for name, profile in PROFILES.items() if int(profile.release.split(".")[1]) == minor]
    wholes = (
        sorted(
            (name for name in every if name.endswith("-all") == whole and not name.endswith("-off")), key=len
        )
        for whole in (False, True)
    )
    return [names[0] for names in wholes if names]


def _serves(server: ServerProfile, case: Case) -> bool:
    group, _, version = case["apiVersion"].rpartition("/")
    return group != data.GROUP or version in server.served.get(case["kind"], ())


def _answered(
    server: ServerProfile, storing: ServerProfile, profile: str, requests: list[Case], file: Path
) -> Iterator[Case]:
    """The cases with the server's answers: those that are in the file already, and the others, which are added to it.

    They are asked under the server's own profile, and said to be of the product's `profile`. The server
    `storing` stores the objects that are to be updated.
    """
    known = {}
    if file.exists():
        lines = file.read_text(encoding="utf-8").split("\n")
        known = {case["id"]: case for line in lines[:-1] if (case := json.loads(line))}
    missing = [case for case in requests if case["id"] not in known]
    if missing:
        _tell(f"    {file.stem}: {len(missing)} requests")
        with open(file, "a", encoding="utf-8") as out:
            for case in _ask(server, storing, missing):
                out.write(json.dumps(case) + "\n")
                out.flush()
                known[case["id"]] = case
    yield from ({**case, "profile": profile} for case in known.values() if "expect" in case)


def _ask(server: ServerProfile, storing: ServerProfile, requests: list[Case]) -> Iterator[Case]:
    """Each case with its answer; without one if its object cannot be stored."""
    with contextlib.ExitStack() as stack:
        for each in (server, storing):
            stack.enter_context(_known(each))
        other = stack.enter_context(control_plane(storing.name)) if storing is not server else None
        running = stack.enter_context(control_plane(server.name, other.etcd if other else ""))
        prober = Prober(running, other)
        for number, case in enumerate(requests):
            if number % 500 == 0 and number:
                _tell(f"    {number} of {len(requests)}")
            asked = {**case, "profile": server.name}
            # one at a time: the cases' objects share their names
            yield next(prober.record([asked], threads=1), {"id": case["id"]})


@contextlib.contextmanager
def _known(server: ServerProfile) -> Iterator[None]:
    """While the server is among the profiles, whether the product knows its release or not."""
    before = PROFILES.get(server.name)
    PROFILES[server.name] = server
    try:
        yield
    finally:
        if before is None:
            del PROFILES[server.name]
        else:
            PROFILES[server.name] = before


if __name__ == "__main__":
    sys.exit(main())
