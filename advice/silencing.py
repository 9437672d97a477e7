"""Comments that silence lints: ``# claimcheck: ignore[CC001,CC002]``, or ``# claimcheck: ignore`` for all of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from advice.lints.table import LINTS, UNKNOWN_LINT, Warning, meant

if TYPE_CHECKING:
    from advice.findings import Finding
    from documents.manifest import Manifest

_TRACE = "claimcheck:"
_COMMENT = r"#\s*claimcheck:\s*ignore(?:\[([^\]]*)\])?"
_CODE = r"[^\s,]+"
_MOST_UNKNOWN = 100


def is_ignored(manifest: Manifest, finding: Finding) -> bool:
    """Whether a comment on the finding's line, or alone on the line above, silences it.

    The comment may follow the ``|`` or ``>`` of a block scalar that begins on the next line, as block scalars have no comments.
    """
    for number in (finding.line, finding.line - 1):
        line = manifest.source_line(number)
        if number != finding.line and not re.match(r"\s*#|.*[|>][-+0-9]*\s+#", line):
            continue
        matched = re.search(_COMMENT, line)
        if matched and (matched[1] is None or finding.rule in re.findall(_CODE, matched[1])):
            return True
    return False


def unknown_codes(manifest: Manifest) -> Iterator[Warning]:
    """CC024: the codes in such comments that no lint has, so that the comments silence nothing."""
    from documents.positions import Place

    left = _MOST_UNKNOWN
    for number in manifest.lines_with(_TRACE):
        comment = re.search(_COMMENT, manifest.source_line(number))
        if comment is None or comment[1] is None:
            continue
        for code in re.finditer(_CODE, comment[1]):
            if code[0] not in LINTS and left:
                left -= 1
                place = Place(number, comment.start(1) + code.start() + 1, len(code[0]), exact=True)
                known = meant(code[0])
                hint = f"did you mean `{known}`?" if known else "`claimcheck lint` lists them"
                yield Warning(UNKNOWN_LINT.code, (), f"no lint has the code {code[0]}", hint, place=place)
