"""Whether the schemas of a chart's values refer to something else, which Helm would fetch: from the network, or a file.

They are looked through as bytes, within archives of other charts too, so that it does not matter who reads them how. What
cannot be looked through counts as referring to something else.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib

from documents.source import MAX_FILE_BYTES

#: What Helm calls the schema of a chart's values.
SCHEMA = "values.schema.json"
_ARCHIVE, _GZIP = ".tgz", b"\x1f\x8b\x08"
# The keywords, or an escape of a character that stands in one of them.
_ELSEWHERE = re.compile(
    rb'"\$(?:ref|dynamicRef|recursiveRef)"\s*:\s*"(?!#)'
    rb'|"\$schema"\s*:\s*"(?!https?://json-schema\.org/)'
    rb"|\\u00(?:24|5[0-9aA]|6[1-9a-fA-F]|7[0-9aA])"
)


def refer_elsewhere(chart: str) -> bool:
    """Whether a schema in a chart, or in a chart within it, may refer to something outside of itself."""
    for parent, _, files in os.walk(chart):
        for name in files:
            path = os.path.join(parent, name)
            if name == SCHEMA and _refers(path):
                return True
            if name.endswith(_ARCHIVE) and _has_one_that_refers(path):
                return True
    return False


def _refers(path: str) -> bool:
    try:
        with open(path, "rb") as stream:
            content = stream.read(MAX_FILE_BYTES + 1)
    except OSError:
        return True
    return len(content) > MAX_FILE_BYTES or _ELSEWHERE.search(content) is not None


def _has_one_that_refers(archive: str) -> bool:
    try:
        with gzip.open(archive) as stream:
            content = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        return True
    if len(content) > MAX_FILE_BYTES or (_ARCHIVE.encode() in content and _GZIP in content):
        return True  # an archive in it may have one
    return SCHEMA.encode() in content and _ELSEWHERE.search(content) is not None
