"""kube-apiserver's feature gates that have no say about DRA objects, as recorded from the server of each release.

A server's flags name gates of all kinds; these are known so that such settings are taken, refused and counted as
dependencies as the server does.  :mod:`resourceapi.gates` has the others.  Read only where gates are set.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parent / "data" / "other_gates"


class OtherGates(NamedTuple):
    """The gates of a release.

    :ivar stages: by gate its stage, its default and perhaps that it is locked: ``BETA off``, ``GA on locked``.
    :ivar depends_on: by gate what must be on for it.
    """

    stages: Mapping[str, str]
    depends_on: Mapping[str, Sequence[str]]


@cache
def of_release(minor: int) -> OtherGates:
    """The gates that release 1.``minor`` has."""
    content = json.loads((DATA / f"1.{minor}.json").read_text(encoding="utf-8"))
    return OtherGates(content["stages"], content["dependsOn"])
