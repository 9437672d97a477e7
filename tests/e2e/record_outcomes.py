"""Has a real control plane of 1.37 fill in what it makes of new cases of `tests/claimcheck/data/outcomes`.

    python -m tests.e2e.record_outcomes [SUBJECT ...]

Cases that have no `expect` get one. To ask about a case again, delete its `expect`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

import yaml

from tests.claimcheck.outcome_objects import Object
from tests.claimcheck.outcomes import DIRECTORY, subjects
from tests.e2e.asked_outcomes import Outcomes, asked


def main(names: Sequence[str]) -> None:
    """Ask about the new cases of these subjects, or of all."""
    chosen = [each for each in subjects() if not names or each.name in names]
    new = [case for subject in chosen for case in subject.cases if not case.expected]
    if not new:
        print("no new cases")
        return
    found = asked(new)
    for subject in chosen:
        path = DIRECTORY / f"{subject.name}.yaml"
        path.write_text(filled_in(path.read_text(), found))
    print(f"{len(new)} new cases")


def filled_in(text: str, outcomes: Outcomes) -> str:
    """The text of a file with the outcomes of some of its cases, each after what is there of the case."""
    parts = re.split(r"^(?=- case: )", text, flags=re.MULTILINE)
    return "".join(f"{part.rstrip()}\n{_expect(part, outcomes)}" for part in parts)


def _expect(part: str, outcomes: Outcomes) -> str:
    name = part.partition("- case: ")[2].partition("\n")[0].strip()
    if name not in outcomes:
        return ""
    return "  expect:\n" + "".join(
        f"    {pod}: {_written(name, outcome)}\n" for pod, outcome in outcomes[name].items()
    )


def _written(case: str, outcome: Object) -> str:
    text = yaml.safe_dump(outcome, default_flow_style=True, width=10**6, sort_keys=False).strip()
    return text.replace(case, "CASE")


if __name__ == "__main__":
    main(sys.argv[1:])
