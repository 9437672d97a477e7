"""Programs that make manifests of strangers' files, within bounds: what they get to see, how long they run, how much they may take."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from documents.finding import is_below, leads_to_hidden
from documents.source import MAX_FILE_BYTES

if TYPE_CHECKING:
    from subprocess import Popen
    from typing import IO

_LONGEST_MESSAGE = 2_000
#: As much memory as one may take.
_BYTES = 1 << 30
#: Once all of them have made as much, none is run any more: it is held until the end.
MAX_BYTES_IN_ALL = 256 * 1024 * 1024
IGNORED = ".helmignore"  # hidden, and Helm's own
_ABOUT_LINKS = b"found symbolic link in path"


def link_out_of(chart: str) -> str | None:
    """The first symbolic link in a directory that leads elsewhere; or None."""
    for parent, directories, files in os.walk(chart):
        for name in sorted((*directories, *files)):
            path = os.path.join(parent, name)
            if os.path.islink(path) and (not is_below(chart, path) or leads_to_hidden(chart, path)):
                return os.path.relpath(path, chart)
    return None


def lay_out(chart: str, place: str, *, links: bool = True) -> None:
    """Make a directory with what is not hidden in another one: links to its files, and its own links as links in there.

    :param links: whether files are linked; otherwise they are copied, for programs that read no file outside of the directory.
    """
    from shutil import copyfile

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
            elif not name.startswith(".") or name == IGNORED:
                (os.symlink if links else copyfile)(path, target)


def search_path() -> str:
    """The PATH without places that are relative: these may be a stranger's."""
    places = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(place for place in places if os.path.isabs(place))


def environment(home: str, path: str) -> dict[str, str]:
    """Nothing that is secret: templates can read it all."""
    places = ("HOME", "HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME")
    return {"PATH": path, **dict.fromkeys(places, home)}


def used_up(made: int) -> str:
    """Why nothing is run any more after so many bytes; empty if something may be."""
    most = f"the {MAX_BYTES_IN_ALL // 2**20} MiB that may be rendered in all are used up"
    return most if made >= MAX_BYTES_IN_ALL else ""


def run(command: list[str], environment: dict[str, str], seconds: float) -> tuple[bytes, str | None]:
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
