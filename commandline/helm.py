"""``--helm``: what Helm makes of charts, by the ``helm`` that is installed. Only on request: it runs strangers' templates.

Templates can read what Helm reads: its environment, all files of the chart, and those that symbolic links in it lead to. So
Helm gets nothing but the PATH, an empty home and the chart without what is hidden in it (at the top of a checkout that is git's
directory, with credentials), and charts with links that lead elsewhere are refused. Schemas of values can refer to files and addresses, which Helm would fetch; it gets none of those.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from claimcheck.answers.reading import Text
from commandline.chart_schemas import refer_elsewhere
from commandline.errors import UsageError
from commandline.reports.places import RENDERED
from documents.errors import DocumentError
from documents.links import is_below, leads_to_hidden
from documents.sources import MAX_FILE_BYTES

if TYPE_CHECKING:
    from subprocess import Popen
    from typing import IO

    from resourceapi.releases import Profile

#: The time limit for one chart, in seconds.
SECONDS = 60.0
#: The time limit for all charts together.
SECONDS_IN_ALL = 300.0
_RELEASE = "release"
_LONGEST_MESSAGE = 2_000
#: As much memory as Helm may take.
_BYTES = 1 << 30
_SKIP = "--skip-schema-validation"
_UNCHECKED = (
    "values are not compared with a schema of the chart, which refers to something else or cannot be read"
)
_IGNORED = ".helmignore"  # hidden, and Helm's own
_ABOUT_LINKS = b"found symbolic link in path"


def _say_nothing(line: str) -> None:
    """For those who do not want to be told."""


def render_all(
    directories: Iterable[str],
    profile: Profile,
    seconds: float = SECONDS_IN_ALL,
    tell: Callable[[str], None] = _say_nothing,
) -> Iterator[Text | DocumentError]:
    """Render charts, and say of each why Helm cannot.

    :param profile: the server that templates are told of.
    :param tell: is called with what users should know of a chart that is rendered.
    :raises UsageError: if there is no ``helm``.
    """
    from time import monotonic

    end = monotonic() + seconds
    for directory in directories:
        left = end - monotonic()
        if left > 0:
            yield render(directory, profile, min(SECONDS, left), tell)
        else:
            message = f"helm template: not run: the {seconds:g} s for all charts are over"
            yield DocumentError(directory, 0, 0, message)


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

    path = _path()
    # An empty one would be taken for none.
    helm = which("helm", path=path) if path else None
    if helm is None:
        raise UsageError("--helm: there is no helm on the PATH")
    if link := _link_out_of(directory):
        message = f"helm template: not run: {link} is a symbolic link that leads out of the chart, or to something hidden"
        return DocumentError(directory, 0, 0, message)
    with TemporaryDirectory() as home, TemporaryDirectory() as place:
        chart = os.path.join(place, "chart")
        try:
            _lay_out(os.path.realpath(directory), chart)
        except OSError as error:
            message = f"helm template: not run: the chart cannot be read: {error.strerror or error}"
            return DocumentError(directory, 0, 0, message)
        unchecked = refer_elsewhere(chart)
        if unchecked:
            tell(f"{directory}: {_UNCHECKED}")
        # Helm installs what is in `crds` as it is: those of archives in `charts` are nowhere else to be seen.
        options = ("--include-crds", *([_SKIP] if unchecked else ()), *_capabilities(profile))
        command = [helm, "template", *options, _RELEASE, chart]
        content, failure = _run(command, _environment(home, path), seconds)
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


def _link_out_of(chart: str) -> str | None:
    """The first symbolic link in a chart that leads elsewhere; or None."""
    for parent, directories, files in os.walk(chart):
        for name in sorted((*directories, *files)):
            path = os.path.join(parent, name)
            if os.path.islink(path) and (not is_below(chart, path) or leads_to_hidden(chart, path)):
                return os.path.relpath(path, chart)
    return None


def _lay_out(chart: str, place: str) -> None:
    """Make a directory with what is not hidden in a chart: links to its files, and its own links as links in there."""

    def fail(error: OSError) -> None:
        raise error

    os.mkdir(place)
    for parent, directories, files in os.walk(chart, onerror=fail):
        directories[:] = [name for name in directories if not name.startswith(".")]
        for name in (*directories, *files):
            path = os.path.join(parent, name)
            target = os.path.join(place, os.path.relpath(path, chart))
            if os.path.islink(path):
                os.symlink(os.path.join(place, os.path.relpath(os.path.realpath(path), chart)), target)
            elif name in directories:
                os.mkdir(target)
            elif not name.startswith(".") or name == _IGNORED:
                os.symlink(path, target)


def _path() -> str:
    """The PATH without places that are relative: these may be a stranger's."""
    places = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(place for place in places if os.path.isabs(place))


def _environment(home: str, path: str) -> dict[str, str]:
    """Nothing that is secret: templates can read it all."""
    places = ("HOME", "HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME")
    return {"PATH": path, **dict.fromkeys(places, home)}


def _run(command: list[str], environment: dict[str, str], seconds: float) -> tuple[bytes, str | None]:
    """What a command prints, and why that cannot be used, if so."""
    from resource import RLIM_INFINITY, RLIMIT_DATA, getrlimit, setrlimit
    from subprocess import DEVNULL, PIPE, Popen
    from threading import Thread, Timer

    allowed = getrlimit(RLIMIT_DATA)[1]
    most = _BYTES if allowed == RLIM_INFINITY else min(allowed, _BYTES)
    process = Popen(
        command,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        env=environment,
        preexec_fn=partial(setrlimit, RLIMIT_DATA, (most, most)),  # noqa: PLW1509 - it takes no lock
    )
    assert process.stdout is not None
    assert process.stderr is not None
    late: list[bool] = []
    said: list[bytes] = []
    timer = Timer(seconds, _end, (process, late))
    listener = Thread(target=_listen, args=(process.stderr, said), daemon=True)
    timer.start()
    listener.start()
    try:
        content = process.stdout.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            return b"", f"more than {MAX_FILE_BYTES // 2**20} MiB"
        code = process.wait()
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        process.stdout.close()
        listener.join()
        process.stderr.close()
    if late:
        return b"", f"not done within {seconds:.3g} s"
    return (content, None) if code == 0 else (b"", b"".join(said).decode("utf-8", "replace").strip())


def _listen(messages: IO[bytes], said: list[bytes]) -> None:
    """Keep the beginning of what is said, and read the rest, so that nobody waits for that."""
    left = _LONGEST_MESSAGE
    while line := messages.readline(1 << 16):
        if left > 0 and _ABOUT_LINKS not in line:
            said.append(line[:left])
            left -= len(line)


def _end(process: Popen[bytes], late: list[bool]) -> None:
    late.append(True)
    process.kill()
