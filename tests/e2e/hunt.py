"""Asks a real server random cases and writes them with its answers, for `python -m tests.conformance` to replay.

python -m tests.e2e.hunt --profile 1.37 --seed 7 --count 1000 --out cases.jsonl
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence

from tests.conformance.profiles import PROFILES
from tests.corpus.cases import cases
from tests.e2e.control_plane import control_plane
from tests.e2e.prober import Prober


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.hunt", description=__doc__.splitlines()[0])
    parser.add_argument("--profile", required=True, choices=PROFILES)
    parser.add_argument("--seed", required=True, help="any text; the same seed gives the same cases")
    parser.add_argument("--count", type=int, default=1000, metavar="N")
    parser.add_argument("--kind", action="append", default=[], help="only this kind; may be repeated")
    parser.add_argument("--verb", action="append", default=[], help="only this verb; may be repeated")
    parser.add_argument(
        "--stored-by", choices=PROFILES, help="have objects to update stored by a server of this profile"
    )
    parser.add_argument("--out", required=True, metavar="FILE")
    options = parser.parse_args(arguments)
    asked = cases(options.profile, options.seed, options.count, tuple(options.kind), tuple(options.verb))
    written = 0
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(control_plane(options.profile))
        other = options.stored_by and stack.enter_context(control_plane(options.stored_by, server.etcd))
        out = stack.enter_context(open(options.out, "w", encoding="utf-8"))
        for case in Prober(server, other or None).record(asked):
            out.write(json.dumps(case) + "\n")
            written += 1
    print(f"{options.out}: {written} cases of {options.count}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
