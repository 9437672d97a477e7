"""Patterns of files and directories that are left out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from fnmatch import translate

MOST_PATTERNS, MOST_CHARACTERS = 200, 5_000
"""As many patterns, of so many characters in all, are matched with every name in little time."""


class Exclusion:
    """Says which paths are left out.

    A pattern without a slash stands for all files and directories with such a name, one with a slash for paths below the
    base. ``*`` stands for any text, ``?`` for a character, ``[abc]`` for one of these.

    :param base: the directory that patterns with a slash start from.
    """

    def __init__(self, patterns: Iterable[str], base: str = os.curdir) -> None:
        names: list[str] = []
        paths: list[str] = []
        for pattern in patterns:
            bare = pattern.strip("/").removeprefix("./")
            if not bare:
                continue
            inside = bare.removeprefix("**/")
            (paths if "/" in inside else names).append(inside)
            if inside != bare and "/" in inside:
                paths.append(bare)
        self._is_name = _any_of(names)
        self._is_path = _any_of(paths)
        self._base = os.path.abspath(base)
        self._verdicts: dict[str, bool] = {}  # of directories

    def __call__(self, path: str) -> bool:
        """Whether a path, or a directory that it is in, is left out."""
        relative = os.path.relpath(os.path.abspath(path), self._base)
        parts = [part for part in relative.split(os.sep) if part not in (os.curdir, os.pardir)]
        above = ""
        for name in parts[:-1]:
            directory = above + name
            if directory not in self._verdicts:
                self._verdicts[directory] = self._is_meant(name, directory)
            if self._verdicts[directory]:
                return True
            above = directory + "/"
        return bool(parts) and self._is_meant(parts[-1], above + parts[-1])

    def _is_meant(self, name: str, path: str) -> bool:
        """Whether a pattern stands for this file or directory itself."""
        if self._is_name is not None and self._is_name.fullmatch(name):
            return True
        return self._is_path is not None and self._is_path.fullmatch(path) is not None


def _any_of(patterns: list[str]) -> re.Pattern[str] | None:
    if not patterns:
        return None
    # As many groups as patterns have stars, which is why each is a group of its own, with names from `translate`.
    return re.compile("|".join(translate(pattern) for pattern in dict.fromkeys(patterns)))
