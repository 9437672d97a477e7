"""Time zones by name, as Go's `time.LoadLocation` finds them: files below the system's directories of zones.

The name is a stranger's. It becomes a path only if it is made of the characters that names of zones have, and neither a
module nor any file elsewhere: `zoneinfo.ZoneInfo(name)` would look for a package with folders of that name as well.
"""

from __future__ import annotations

import errno
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from zoneinfo import TZPATH, ZoneInfo

from deviceselectors.runtime.values import CelError

_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+.-/")
#: What a file system allows in a path, and between two slashes.
_MAX_PATH, _MAX_PART = 4000, 255
_UNREADABLE = {errno.EISDIR: "is a directory"}


def zone(name: str) -> ZoneInfo:
    """The zone of a name.

    :raises CelError: with Go's text
    """
    if "\0" in name:
        raise CelError("invalid argument")
    if ".." in name or name[0] in "/\\" or "\\" in name:
        raise CelError("time: invalid location name")
    encoded = name.encode("utf-8", "surrogatepass")
    if len(encoded) > _MAX_PATH or any(len(part) > _MAX_PART for part in encoded.split(b"/")):
        raise CelError("file name too long")
    path = _path(name)
    if not _CHARACTERS.issuperset(path) or path.endswith("/"):
        raise CelError(f"unknown time zone {name}")
    found = _read(path)
    if found is None:
        raise CelError(f"unknown time zone {name}")
    if isinstance(found, str):
        raise CelError(found)
    return found


def _path(name: str) -> str:
    """The file's path below a directory; as in other paths, empty parts and points mean nothing within."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    # a slash at the end asks for a directory, which is no zone
    return "/".join(parts) + ("/" if name.endswith("/") else "")


@lru_cache(maxsize=64)
def _read(path: str) -> ZoneInfo | str | None:
    """The zone in the first file of that path, why it cannot be read, or None if there is none."""
    for directory in _directories():
        try:
            with open(f"{directory}/{path}", "rb") as file:
                return ZoneInfo.from_file(file, key=path)
        except OSError as error:
            if error.errno in _UNREADABLE:
                return _UNREADABLE[error.errno]
        except ValueError:
            return "malformed time zone information"
    return None


@lru_cache(maxsize=1)
def _directories() -> list[Path]:
    """Where zones are: the system's directories, and the package that brings them where it has none."""
    package = find_spec("tzdata")
    own = [Path(place) / "zoneinfo" for place in package.submodule_search_locations or ()] if package else []
    return [*map(Path, TZPATH), *own]
