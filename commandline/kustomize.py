"""``--kustomize``: what kustomize makes of kustomizations, by the ``kustomize`` or ``kubectl`` that is installed. Only on request.

Kustomizations come from strangers, and kustomize would fetch what they name: it gets no program to clone with, no proxy that
answers, and no kustomization that names an address, or other programs. It sees a copy of the directory without what is hidden there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from claimcheck.answers.reading import Text
from commandline.errors import UsageError
from commandline.renderers import environment, lay_out, link_out_of, run, search_path, used_up
from commandline.reports.escaping import RENDERED
from documents import Document, DocumentError, parse
from documents.finding import KUSTOMIZATIONS, is_below
from documents.kustomizations import Kustomization
from documents.source import read_file
from resourceapi.manifests import mapping, text

#: The time limit for one kustomization, and for all together, in seconds.
SECONDS, SECONDS_IN_ALL = 60.0, 300.0
#: Larger directories are not copied, and of all together no more: each directory within another one may need a copy of its own.
MAX_COPIED_BYTES, MAX_COPIED_IN_ALL = 256 * 1024 * 1024, 1024 * 1024 * 1024
_BLOCK_BYTES = 4096  # what the smallest file takes
_NO_PROXY = "http://127.0.0.1:9"  # a port at which nobody answers
# What no kustomization may have: with it, others make objects.
_FOREIGN = (
    "generators",
    "transformers",
    "validators",
    "helmCharts",
    "helmChartInflationGenerator",
    "openapi",
)
# Under these, an address is a text like others.
_TEXTS = frozenset(
    each.casefold()
    for each in ("commonAnnotations", "commonLabels", "labels", "literals", "patch", "metadata")
)


class Built(NamedTuple):
    """What kustomize has made.

    :ivar texts: the manifests, or why there are none.
    :ivar files: the files whose objects are all among them, changed or not, as normalized paths.
    """

    texts: list[Text | DocumentError]
    files: frozenset[str]


def build_all(tops: Iterable[tuple[str, str]], seconds: float = SECONDS_IN_ALL) -> Built:
    """Build the kustomizations that no other one takes objects from.

    :param tops: the directories of kustomizations, each behind the directory in which it was found.
    :raises UsageError: if there is neither ``kustomize`` nor ``kubectl``.
    """
    from time import monotonic

    end = monotonic() + seconds
    program = _program()
    found = {os.path.normpath(directory): (top, directory) for top, directory in tops}
    read = cache(_Kustomization)  # strangers may have each take objects from all that follow
    used = _taken(found, read)
    texts: list[Text | DocumentError] = []
    done: list[tuple[_Parts, str]] = []
    made = 0
    with ExitStack() as stack:
        copies = _Copies(stack)
        for normal, (top, directory) in sorted(found.items()):
            if normal in used or read(normal).is_component:
                continue
            left = end - monotonic()
            reason = used_up(made) or ("" if left > 0 else f"the {seconds:g} s for all of them are over")
            parts = None if reason else _Parts(normal, read)
            reason = parts.refusal if parts else reason
            if parts is None or reason:
                texts.append(DocumentError(directory, 0, 0, f"kustomize: not run: {reason}"))
                continue
            whole = parts.root
            if not (is_below(top, whole) or is_below(os.curdir, whole)):
                message = "kustomize: not run: it takes objects from outside of the working directory"
                texts.append(DocumentError(directory, 0, 0, message))
                continue
            text = _build(program, whole, directory, copies, min(SECONDS, left))
            texts.append(text)
            if isinstance(text, Text):
                made += len(text.content)
                done.append((parts, directory))
        files: set[str] = set()
        for parts, directory in done:
            marked = _mark(parts, copies.of(parts.root)[0], end)
            again = _build(program, parts.root, directory, copies, max(0.0, min(SECONDS, end - monotonic())))
            files |= parts.kustomizations
            if isinstance(again, Text):
                made_of = _annotations(again)
                files.update(file for file, marks in marked.items() if marks <= made_of)
    return Built(texts, frozenset(files))


def _mark(parts: _Parts, place: str, end: float) -> dict[str, set[str]]:
    """Give each object an annotation of its own in the copy, one that nobody can know before; it comes out with the object.

    :returns: the annotations of each file, without the files in which objects cannot be marked.
    """
    from json import dumps
    from secrets import token_hex
    from time import monotonic

    from resourceapi.model.versions import OWN_GROUP

    found: dict[str, set[str]] = {}
    for file in sorted(parts.inputs | parts.patches):
        if monotonic() > end or not is_below(parts.root, file):
            continue
        marks: set[str] = set()
        texts: list[str] = []
        try:
            for document in parse(read_file(file), file):
                if isinstance(document, DocumentError):
                    raise document
                value = document.value
                deletes = file not in parts.inputs and value.get("$patch") == "delete"
                if "kind" in value and not deletes:
                    mark = f"{OWN_GROUP}/{token_hex(16)}"
                    metadata = value.get("metadata") or {}
                    annotations = {**(metadata.get("annotations") or {}), mark: ""}
                    value = {**value, "metadata": {**metadata, "annotations": annotations}}
                    marks.add(mark)
                texts.append(dumps(value, ensure_ascii=False))
            with open(os.path.join(place, os.path.relpath(file, parts.root)), "wb") as copy:
                copy.write("\n---\n".join(texts).encode())
            found[file] = marks
        except (DocumentError, AttributeError, TypeError, ValueError, RecursionError, OSError):
            continue  # so it is validated as it is
    return found


def _annotations(made: Text) -> set[str]:
    """The annotations of all objects."""
    found: set[str] = set()
    for each in parse(made.content, made.name):
        if isinstance(each, Document):
            found.update(mapping(each.value, "metadata", "annotations"))
    return found


class _Kustomization:
    """What the kustomization of a directory names itself.

    :ivar refusal: why it is not built; empty if it may be.
    :ivar is_component: whether it is no whole of its own, but for others to include.
    :ivar file: its own.
    :ivar inputs: the files that it takes objects from, as normalized paths.
    :ivar patches: those that it changes objects with.
    :ivar directories: those that it takes objects from, as normalized paths.
    """

    def __init__(self, directory: str) -> None:
        self.file = ""
        self.inputs = self.patches = frozenset[str]()
        self.directories: list[str] = []
        self.refusal = ""
        self.is_component = False
        names = [name for name in sorted(KUSTOMIZATIONS) if os.path.isfile(os.path.join(directory, name))]
        if len(names) != 1:
            self.refusal = f"{directory} has {len(names)} kustomizations"
            return
        file = self.file = os.path.normpath(os.path.join(directory, names[0]))
        kustomization = Kustomization(directory, names[0])
        value = _value(file)
        if value is None:
            self.refusal = f"{file} cannot be read"
        elif any(key.casefold() in map(str.casefold, _FOREIGN) for key in value):
            self.refusal = f"{file} has others make objects"
        elif _names_address(value) or any(
            each.what.endswith("from elsewhere") for each in kustomization.brought
        ):
            self.refusal = f"{file} names what is not here"
        else:
            self.is_component = text(value, "kind") == "Component"
            self.directories = [path for path in kustomization.inputs if os.path.isdir(path)]
            self.inputs = frozenset(kustomization.inputs).difference(self.directories)
            self.patches = frozenset(kustomization.patches)


_Read = Callable[[str], _Kustomization]


def _taken(directories: Iterable[str], read: _Read) -> set[str]:
    """All directories from which these, or others that they take objects from, take some."""
    waiting, seen, taken = list(directories), set[str](), set[str]()
    while waiting:
        current = waiting.pop()
        if current not in seen:
            seen.add(current)
            others = [each for each in read(current).directories if each != current]
            taken.update(others)
            waiting += others
    return taken


class _Parts:
    """What a kustomization is made of, with those that it takes objects from."""

    def __init__(self, directory: str, read: _Read) -> None:
        self.kustomizations: set[str] = set()
        self.inputs: set[str] = set()
        self.patches: set[str] = set()
        self.refusal = ""
        waiting = [directory]
        seen: set[str] = set()
        while waiting and not self.refusal:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            found = read(current)
            self.refusal = found.refusal
            self.kustomizations.add(found.file)
            self.inputs |= found.inputs
            self.patches |= found.patches
            waiting += found.directories
        #: the directory that has all of it
        self.root = os.path.relpath(os.path.commonpath([os.path.abspath(each) for each in seen]))


def _value(file: str) -> dict[str, Any] | None:
    try:
        found = list(parse(read_file(file), file))
    except DocumentError:
        return None
    (only,) = found if len(found) == 1 else (None,)
    return only.value if isinstance(only, Document) and not only.has_repeated_keys else None


def _names_address(value: Any) -> bool:
    """Whether a text that may be read as a path is an address."""
    if isinstance(value, dict):
        return any(_names_address(each) for key, each in value.items() if str(key).casefold() not in _TEXTS)
    if isinstance(value, list):
        return any(map(_names_address, value))
    return isinstance(value, str) and "://" in value and "\n" not in value


def _program() -> list[str]:
    from shutil import which

    path = search_path()
    for name, action in (("kustomize", "build"), ("kubectl", "kustomize")):
        if path and (found := which(name, path=path)):
            return [found, action]
    raise UsageError("--kustomize: there is neither kustomize nor kubectl on the PATH")


class _Copies:
    """Copies of the directories that were searched, which programs may read."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._copies: dict[str, tuple[str, str]] = {}
        self._bytes = 0

    def of(self, top: str) -> tuple[str, str]:
        """The copy of a directory, and why there is none, if so."""
        if top not in self._copies:
            place = os.path.join(self._stack.enter_context(TemporaryDirectory()), "copy")
            self._copies[top] = place, self._make(top, place)
        return self._copies[top]

    def _make(self, top: str, place: str) -> str:
        if link := link_out_of(top):
            return f"{link} is a symbolic link that leads out of the directory, or to something hidden"
        try:
            size = _size(top)
            if size > MAX_COPIED_BYTES:
                return f"the directory has more than {MAX_COPIED_BYTES // 2**20} MiB"
            if self._bytes + size > MAX_COPIED_IN_ALL:
                return f"the directories to be copied have more than {MAX_COPIED_IN_ALL // 2**20} MiB in all"
            self._bytes += size
            lay_out(os.path.realpath(top), place, links=False)
        except OSError as error:
            return f"the directory cannot be read: {error.strerror or error}"
        return ""


def _size(top: str) -> int:
    """The bytes that a copy of a directory takes, without what is hidden."""
    found = 0
    for parent, directories, files in os.walk(top):
        directories[:] = [name for name in directories if not name.startswith(".")]
        found += _BLOCK_BYTES * len((*directories, *files))
        found += sum(os.lstat(os.path.join(parent, name)).st_size for name in files)
    return found


def _build(
    program: list[str], top: str, directory: str, copies: _Copies, seconds: float
) -> Text | DocumentError:
    copy, reason = copies.of(top)
    if reason:
        return DocumentError(directory, 0, 0, f"kustomize: not run: {reason}")
    inside = os.path.normpath(os.path.join(copy, os.path.relpath(directory, top)))
    with TemporaryDirectory() as home:
        variables = environment(home, home)
        variables |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _NO_PROXY)
        content, failure = run([*program, inside], variables, seconds)
    if failure is not None:
        return DocumentError(directory, 0, 0, f"kustomize: {failure.replace(copy, top)}")
    return Text(directory + RENDERED, content)


def without_built(found: Iterable[Any], built: Collection[str], named: Iterable[str]) -> Iterator[Any]:
    """The inputs that kustomize has not made something else of, and those that users name: a stranger may have it leave out any."""
    kept = frozenset(named)
    for each in found:
        if not isinstance(each, str) or each in kept or os.path.normpath(each) not in built:
            yield each
