"""Which files the command line's arguments stand for."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from documents.errors import DocumentError, EmptyDirectory
from documents.parsing import NOT_AN_OBJECT, parse
from documents.source import STANDARD_INPUT, read_file

if TYPE_CHECKING:
    from documents.kustomizations import Brought, Kustomization


# Files below a directory that are not read although they look like manifests, and why.

# A reason that is added here gets its words in `commandline.reading`.
HIDDEN, PART_OF_CHART, PATCH, LINK = "hidden", "part of a chart", "patch", "link"
SUFFIX, NO_FILE, NO_DIRECTORY = "suffix", "no regular file", "unreadable directory"
KUSTOMIZATION = "kustomization"

# One of these is in every text that has a key apiVersion or kind, however it is escaped.
_TRACES = (b"kind", b"apiVersion", b"\\", b"!")
_NAMES = ("apiVersion", "kind")
# One of these is in every text that has such a name and cannot be parsed.
_TRACES_IN_ERRORS = (b"kind", b"apiVersion", b"\\")


class SkippedFile(NamedTuple):
    """A file or directory that is not read.

    :ivar reason: one of the constants of this module.
    :ivar brought: of a kustomization, what it brings in that is not read.
    """

    file: str
    reason: str
    brought: tuple[Brought, ...] = ()


def looks_like_manifest(file: str, is_other: Callable[[dict[str, Any]], bool] = lambda value: False) -> bool:
    """Whether a regular file has an object with an apiVersion or a kind, or may have one for all that can be told.

    :param is_other: says of an object that it is none of Kubernetes, whatever it has.
    """
    try:
        content = read_file(file)
    except DocumentError:
        return True
    content_of_any_width = content.replace(b"\0", b"") if b"\0" in content else content
    if not any(trace in content_of_any_width for trace in _TRACES):
        return False
    for found in parse(content, file):
        if isinstance(found, DocumentError):
            if not found.message.startswith(NOT_AN_OBJECT) and any(
                trace in content_of_any_width for trace in _TRACES_IN_ERRORS
            ):
                return True
        elif any(name in found.value for name in _NAMES) and not is_other(found.value):
            return True
    return False


def mentions(file: str, words: Iterable[bytes]) -> bool:
    """Whether one of these words is in a file, or may be for all that can be told."""
    try:
        content = read_file(file).replace(b"\0", b"")
    except DocumentError:
        return False
    return any(word in content for word in words)


EXTENSIONS = (".yaml", ".yml", ".json")
"""What a directory is searched for. A file that an argument or a kustomization names may have any name."""

CHART, TEMPLATES, DEPENDENCIES, VALUES = "Chart.yaml", "templates", "charts", "values"
"""What Helm calls the parts of a chart: only what it makes of them are manifests."""
PACKED = (".tgz", ".tar.gz")
"""How the names of packed charts end, which Helm reads from `DEPENDENCIES`."""

REPOSITORY = ".git"
"""Git's own directory, into which no change of a repository leads."""

KUSTOMIZATIONS = frozenset(("kustomization.yaml", "kustomization.yml", "Kustomization"))
"""What kustomize calls the file that says what a directory makes of other files."""

KUSTOMIZE = "kustomize.config.k8s.io/"
"""What the apiVersion of a kustomization begins with."""


class Files:
    """The files that arguments stand for, in order and each once.

    A directory stands for all its manifests, those of its subdirectories included, sorted by path; hidden files and
    directories are left out, and so are the parts of a Helm chart that are no manifests yet, and the patches of
    kustomizations. What a kustomization takes objects from is read whatever its name. A directory without manifests gives an
    EmptyDirectory.

    While a directory is searched, links to files elsewhere, and to hidden ones, are left out too: who may add a file to it may
    not choose what else is read. A link that is an argument is followed.

    :param exclude: says of a path whether it is left out; a directory with everything in it.
    :ivar charts: the Helm charts of which parts have been left out so far.
    :ivar kustomizations: the directories with kustomizations of which patches have been left out so far.
    :ivar kustomized: all directories with kustomizations that are not skipped, each behind the one that was searched.
    :ivar links: the links that have been left out so far.
    :ivar excluded: how many files and directories have been left out because of ``exclude`` so far.
    :ivar first_excluded: the first of them; empty if there is none.
    """

    def __init__(self, arguments: Iterable[str], exclude: Callable[[str], bool] | None = None) -> None:
        self._arguments = arguments
        self._exclude = exclude
        self.charts: list[str] = []
        self.links: list[str] = []
        self.kustomizations: list[str] = []
        self.kustomized: list[tuple[str, str]] = []
        self.excluded = 0
        self.first_excluded = ""
        self._skipped: dict[str, str] = {}  # files and directories that are left out, and why
        self._brought: dict[str, list[Brought]] = {}  # by kustomizations, and not read
        self._targets: dict[str, str | None] = {}  # of files with patches
        self._searched: list[str] = []
        self._seen: set[str] = set()

    def skipped(self) -> Iterator[SkippedFile]:
        """What has been left out so far, without being excluded, although it looks like a manifest; in order."""
        if not (self._skipped or self._brought):
            return
        seen = {os.path.realpath(path) for path in self._seen}
        for path, reason in sorted(self._skipped.items()):
            if path in self._seen:
                continue
            if reason in (LINK, NO_FILE, NO_DIRECTORY) or (
                os.path.realpath(path) not in seen and self._is_manifest(path)
            ):
                yield SkippedFile(path, reason)
        for path, found in sorted(self._brought.items()):
            brought = tuple(
                each for each in found if not each.file or not self._is_looked_at(each.file, seen)
            )
            if brought:
                yield SkippedFile(path, KUSTOMIZATION, brought)

    def _is_looked_at(self, path: str, seen: set[str]) -> bool:

        if os.path.isdir(path):
            return any(is_below(directory, path) for directory in self._searched)
        return os.path.realpath(path) in seen

    def mentions(self, words: Iterable[bytes]) -> bool:
        """Whether one of these words is in a file that is read, or left out without being excluded."""
        left_out = (path for path, reason in self._skipped.items() if reason != LINK)
        files = (path for path in (*self._seen, *left_out, *self._brought) if path != STANDARD_INPUT)
        return any(mentions(path, words) for path in files if os.path.isfile(path))  # no pipes

    @staticmethod
    def _is_manifest(path: str) -> bool:
        name = os.path.basename(path)
        if name == CHART:
            return looks_like_manifest(path, _describes_chart)
        if name.endswith(PACKED):
            return True
        return (
            looks_like_manifest(path, _is_kustomization)
            if name in KUSTOMIZATIONS
            else looks_like_manifest(path)
        )

    def __iter__(self) -> Iterator[str | DocumentError]:
        seen = self._seen = set()
        for argument in self._arguments:
            for path in self._of(argument):
                if isinstance(path, DocumentError):
                    yield path
                elif path not in seen:
                    seen.add(path)
                    yield path

    def _of(self, argument: str) -> Sequence[str | DocumentError]:
        if argument == STANDARD_INPUT:
            return [argument]
        if self._is_excluded(argument):
            return []
        chart = _chart_around(argument)
        if chart is not None:
            self._note_chart(chart)
            if os.path.isdir(argument):
                list(self._manifests_below(argument, [], PART_OF_CHART))
            else:
                self._skipped.setdefault(argument, PART_OF_CHART)
            return []
        if not os.path.isdir(argument):
            return [argument]
        left_out = self.excluded, len(self.charts)
        kustomizations: list[tuple[str, str, str]] = []
        found = list(self._manifests_below(argument, kustomizations))
        self._searched.append(argument)
        if kustomizations:
            found = self._by_kustomizations(argument, found, kustomizations)
        found.sort(key=lambda path: path.split(os.sep))
        if not found and left_out == (self.excluded, len(self.charts)):
            return [EmptyDirectory(argument, 0, 0, f"no {', '.join(EXTENSIONS)} files in this directory")]
        return found

    def _manifests_below(
        self, directory: str, kustomizations: list[tuple[str, str, str]], reason: str = ""
    ) -> Iterator[str]:
        """The manifests in a directory and below.

        The kustomizations there are appended, as directory, name, and why they are skipped, if they are.

        :param reason: why everything in it is skipped, if it is.
        """
        pending = [(directory, reason)]
        while pending:
            parent, reason = pending.pop()
            try:
                entries = list(os.scandir(parent))
            except OSError:  # the files around it still count
                self._skipped.setdefault(parent, NO_DIRECTORY)
                continue
            of_chart = not reason and any(entry.name == CHART for entry in entries)
            if of_chart:
                self._note_chart(parent)
            for entry in entries:
                if entry.name in KUSTOMIZATIONS and os.path.isfile(entry.path):
                    kustomizations.append((parent, entry.name, reason))
                if entry.name == REPOSITORY:
                    continue
                why = reason
                if not why and entry.name.startswith("."):
                    why = HIDDEN
                elif of_chart and _is_made_into_manifests(entry.name):
                    why = PART_OF_CHART
                if entry.is_dir(follow_symlinks=False):
                    if not self._is_excluded(entry.path):
                        pending.append((entry.path, why))
                elif self._is_read(directory, entry, why):
                    yield entry.path

    def _is_read(self, directory: str, entry: os.DirEntry[str], reason: str) -> bool:
        """Whether an entry below a directory is a manifest to be read; if it may be one and is not, notes why."""
        name, path, is_link = entry.name, entry.path, entry.is_symlink()
        leads_to_directory = is_link and os.path.isdir(path)  # entry.is_dir() fails on loops
        may_be_one = name.lower().endswith(EXTENSIONS) or (reason == PART_OF_CHART and _is_rendered(path))
        if not (may_be_one or leads_to_directory) or self._is_excluded(path):
            return False
        if leads_to_directory:
            if not is_below(directory, path):  # else what is there is looked at where it is
                self._skipped.setdefault(path, LINK)
            return False
        if not (os.path.isfile(path) if is_link else entry.is_file()):
            self._skipped.setdefault(path, NO_FILE)
            return False
        if is_link and not self._may_follow(directory, path):
            return False
        if not reason and name.endswith(EXTENSIONS):
            return True
        self._skipped.setdefault(path, reason or SUFFIX)
        return False

    def _by_kustomizations(
        self, top: str, found: list[str], kustomizations: list[tuple[str, str, str]]
    ) -> list[str]:
        """The manifests in a directory with what kustomizations take objects from, and without their patches."""
        from documents.kustomizations import Kustomization

        known = {os.path.normpath(path): path for path in found}
        patches: set[str] = set()
        for directory, name, reason in sorted(kustomizations):
            file = os.path.join(directory, name)
            kustomization = Kustomization(directory, name)
            named = known.keys() & kustomization.patches.keys()
            if not reason:
                self.kustomized.append((top, directory))
                if named and directory not in self.kustomizations:
                    self.kustomizations.append(directory)
                patches |= named
            if self._is_excluded(file):
                continue
            for path in kustomization.inputs:
                self._take(top, file, path, known, reason)
            self._note_patches(top, file, kustomization)
            if kustomization.brought:
                self._brought.setdefault(file, []).extend(kustomization.brought)
        for path in patches:
            self._skipped.setdefault(known.pop(path), PATCH)
        return list(known.values())

    def _take(self, top: str, kustomization: str, path: str, known: dict[str, str], reason: str) -> None:
        """Add a file that a kustomization takes objects from to those that are known, if it may be read."""
        from documents.kustomizations import Brought

        if path in known:
            return
        if not is_below(top, path):
            brought = Brought("what is in other directories", file=path)
            self._brought.setdefault(kustomization, []).append(brought)
            return
        path = os.path.join(top, os.path.relpath(path, top))
        if os.path.isdir(path) or self._is_excluded(path):
            return
        if not os.path.isfile(path):
            reason = NO_FILE
        elif not reason and (leads_to_hidden(top, path) or _is_hidden(top, path)):
            reason = HIDDEN
        elif not reason and _chart_around(path):
            reason = PART_OF_CHART
        if reason:
            self._skipped.setdefault(path, reason)
        else:
            known[os.path.normpath(path)] = path

    def _note_patches(self, top: str, file: str, kustomization: Kustomization) -> None:
        """Note the files with patches that say nothing of their kind, and those that are not below the directory."""
        from documents.kustomizations import ANY, TARGET, Brought, target_of

        brought: list[Brought] = []
        for path, targets in kustomization.patches.items():
            target: str | None = ANY  # of a file elsewhere, which may be anything
            if os.path.isfile(path) and is_below(top, path):
                here = os.path.join(top, os.path.relpath(path, top))
                if self._is_excluded(here):
                    continue
                self._skipped.setdefault(here, PATCH)
                if path not in self._targets:
                    self._targets[path] = target_of(path)
                target = self._targets[path]
            if target is not None:
                kinds = set(targets) if target == TARGET else {target}
                brought += (Brought("patches in other files", kind) for kind in kinds)
        if brought:
            self._brought.setdefault(file, []).extend(brought)

    def _may_follow(self, directory: str, link: str) -> bool:
        if _is_inside(directory, link):
            return True
        self.links.append(link)
        self._skipped.setdefault(link, LINK)
        return False

    def _is_excluded(self, path: str) -> bool:
        if self._exclude is None or not self._exclude(path):
            return False
        self.excluded += 1
        self.first_excluded = self.first_excluded or path
        return True

    def _note_chart(self, directory: str) -> None:
        if directory not in self.charts:
            self.charts.append(directory)


def find_files(arguments: Iterable[str]) -> Files:
    """The files that arguments stand for, with nothing excluded."""
    return Files(arguments)


def _describes_chart(value: dict[str, Any]) -> bool:
    """Whether an object in a Chart.yaml is Helm's own, which has no kind; kubectl takes any other."""
    return "kind" not in value


def _is_kustomization(value: dict[str, Any]) -> bool:
    """Whether an object in the file of a kustomization is one; it may leave out what it is."""
    of = value.get("apiVersion", KUSTOMIZE), value.get("kind", "Kustomization")
    return isinstance(of[0], str) and of[0].startswith(KUSTOMIZE) and of[1] in ("Kustomization", "Component")


def _is_inside(directory: str, link: str) -> bool:
    """Whether a link leads to what belongs to a directory, and is not hidden there."""
    return is_below(directory, link) and not leads_to_hidden(directory, link)


def _is_hidden(directory: str, path: str) -> bool:
    """Whether a path below a directory is hidden there, wherever it leads."""
    inside = os.path.relpath(path, directory).split(os.sep)
    return any(part.startswith(".") and part not in (os.curdir, os.pardir) for part in inside)


def _is_made_into_manifests(name: str) -> bool:
    """Whether an entry of a chart's directory is what Helm makes manifests from. Its CRDs, say, are some already."""
    return name in (CHART, TEMPLATES, DEPENDENCIES) or (name.startswith(VALUES) and name.endswith(EXTENSIONS))


def _is_rendered(path: str) -> bool:
    """Whether Helm makes manifests of a part of a chart whatever its suffix: of all templates but partial ones, and of packed charts."""
    *parents, name = path.split(os.sep)
    if TEMPLATES in parents:
        return not name.startswith("_") and name != "NOTES.txt"
    return parents[-1:] == [DEPENDENCIES] and name.endswith(PACKED)


def _chart_around(path: str) -> str | None:
    """The chart that a path leads into, to a part of it that is no manifest yet; or None."""
    parts = path.rstrip(os.sep).split(os.sep)
    for at, name in enumerate(parts):
        if name in (TEMPLATES, DEPENDENCIES) or (at == len(parts) - 1 and _is_made_into_manifests(name)):
            directory = os.sep.join(parts[:at]) or (os.sep if path.startswith(os.sep) else os.curdir)
            if os.path.isfile(os.path.join(directory, CHART)):
                return directory
    return None


# Where symbolic links lead: only what is below a directory belongs to it.


def is_below(directory: str, path: str) -> bool:
    """Whether a path, with all links followed, leads to the directory or into it."""
    top = os.path.realpath(directory)
    try:
        return os.path.commonpath((top, os.path.realpath(path))) == top
    except ValueError:  # another drive, a NUL
        return False


def leads_to_hidden(directory: str, path: str) -> bool:
    """Whether a path below a directory, with all links followed, is hidden there.

    What the kubelet mounts is not: its names begin with two dots.
    """
    inside = os.path.relpath(os.path.realpath(path), os.path.realpath(directory))
    return any(
        part.startswith(".") and not part.startswith("..") and part != os.curdir
        for part in inside.split(os.sep)
    )


# Patterns of files and directories that are left out.

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
    from fnmatch import translate

    # As many groups as patterns have stars, which is why each is a group of its own, with names from `translate`.
    return re.compile("|".join(translate(pattern) for pattern in dict.fromkeys(patterns)))
