"""``--helm``: what Helm makes of charts, by the ``helm`` that is installed. Only on request: it runs strangers' templates.

Templates can read what Helm reads: its environment, all files of the chart, and those that symbolic links in it lead to. So
Helm gets nothing but the PATH, an empty home and the chart without what is hidden in it (at the top of a checkout that is git's
directory, with credentials), and charts with links that lead elsewhere are refused. Schemas of values can refer to files and addresses, which Helm would fetch; it gets none of those.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from claimcheck.answers.reading import Text
from commandline.errors import UsageError
from commandline.renderers import environment, lay_out, link_out_of, run, search_path, used_up
from commandline.reports.escaping import RENDERED
from documents.errors import DocumentError
from documents.source import MAX_FILE_BYTES

if TYPE_CHECKING:
    from resourceapi.releases import Profile


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
    """Whether a schema in a chart, or in a chart within it, may refer to something outside of itself, which Helm would fetch.

    They are looked through as bytes, so that it does not matter who reads them how. What cannot be looked through, or not with
    all else of the chart, counts as referring to something else.
    """
    left = MAX_FILE_BYTES
    for parent, _, files in os.walk(chart):
        for name in files:
            path = os.path.join(parent, name)
            if name != SCHEMA and not name.endswith(_ARCHIVE):
                continue
            try:
                with open(path, "rb") if name == SCHEMA else gzip.open(path) as stream:
                    left -= os.path.getsize(path)  # archives may be long and contain little
                    content = stream.read(max(left, 0) + 1)
            except (OSError, EOFError, zlib.error):
                return True
            left -= len(content)
            if left < 0 or (_refers(content) if name == SCHEMA else _has_one_that_refers(content)):
                return True
    return False


def _refers(schema: bytes) -> bool:
    return _ELSEWHERE.search(schema) is not None


def _has_one_that_refers(content: bytes) -> bool:
    if _ARCHIVE.encode() in content and _GZIP in content:
        return True  # an archive in it may have one
    return SCHEMA.encode() in content and _refers(content)


#: The time limit for one chart, in seconds.
SECONDS = 60.0
#: The time limit for all charts together.
SECONDS_IN_ALL = 300.0
_RELEASE = "release"
_SKIP = "--skip-schema-validation"
_UNCHECKED = (
    "values are not compared with a schema of the chart, which refers to something else or cannot be read"
)


def _say_nothing(line: str) -> None:
    """For those who do not want to be told."""


def render_all(
    directories: Iterable[str],
    profile: Profile,
    seconds: float = SECONDS_IN_ALL,
    tell: Callable[[str], None] = _say_nothing,
    made: int = 0,
) -> Iterator[Text | DocumentError]:
    """Render charts, and say of each why Helm cannot.

    :param profile: the server that templates are told of.
    :param tell: is called with what users should know of a chart that is rendered.
    :param made: how many bytes other programs have made.
    :raises UsageError: if there is no ``helm``.
    """
    from time import monotonic

    end = monotonic() + seconds
    for directory in directories:
        left = end - monotonic()
        reason = used_up(made) or ("" if left > 0 else f"the {seconds:g} s for all charts are over")
        if reason:
            yield DocumentError(directory, 0, 0, f"helm template: not run: {reason}")
            continue
        found = render(directory, profile, min(SECONDS, left), tell)
        made += len(found.content) if isinstance(found, Text) else 0
        yield found


def render(
    directory: str, profile: Profile, seconds: float = SECONDS, tell: Callable[[str], None] = _say_nothing
) -> Text | DocumentError:
    """Render a chart, or say why Helm cannot.

    :param profile: the server that templates are told of.
    :param tell: is called with what users should know of a chart that is rendered.
    :raises UsageError: if there is no ``helm``.
    """
    from shutil import which
    from tempfile import TemporaryDirectory

    path = search_path()
    # An empty one would be taken for none.
    helm = which("helm", path=path) if path else None
    if helm is None:
        raise UsageError("--helm: there is no helm on the PATH")
    if link := link_out_of(directory):
        message = f"helm template: not run: {link} is a symbolic link that leads out of the chart, or to something hidden"
        return DocumentError(directory, 0, 0, message)
    with TemporaryDirectory() as home, TemporaryDirectory() as place:
        chart = os.path.join(place, "chart")
        try:
            lay_out(os.path.realpath(directory), chart)
        except OSError as error:
            message = f"helm template: not run: the chart cannot be read: {error.strerror or error}"
            return DocumentError(directory, 0, 0, message)
        unchecked = refer_elsewhere(chart)
        if unchecked:
            tell(f"{directory}: {_UNCHECKED}")
        # Helm installs what is in `crds` as it is: those of archives in `charts` are nowhere else to be seen.
        options = ("--include-crds", *([_SKIP] if unchecked else ()), *_capabilities(profile))
        command = [helm, "template", *options, _RELEASE, chart]
        content, failure = run(command, environment(home, path), seconds)
    if failure is not None:
        return DocumentError(directory, 0, 0, f"helm template: {failure}")
    return Text(directory + RENDERED, content)


def _capabilities(profile: Profile) -> Iterator[str]:
    """Options that tell Helm of a server: its release, and what it serves of ``resource.k8s.io``.

    Helm adds to what it knows of any server, so nothing is taken away from that.
    """
    from resourceapi.kinds import kinds_of
    from resourceapi.model.versions import GROUP

    yield f"--kube-version=1.{profile.minor}.0"
    for version in profile.schemas:
        kinds = [kind.name for kind in kinds_of(profile).values() if kind.served_by(version, profile)]
        if kinds:
            yield f"--api-versions={GROUP}/{version}"
        for kind in kinds:
            yield f"--api-versions={GROUP}/{version}/{kind}"
