"""``.claimcheck.yaml``: what a repository sets for everybody who runs claimcheck in it.

The file may come from strangers: whoever proposes a change to a repository can change it. So only the options in `SETTINGS`
can be set, none of which names a cluster, a program or a file to write; inventories have to be below the file's directory.
"""

from __future__ import annotations

import os
from argparse import Action, ArgumentTypeError, Namespace
from collections.abc import Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from commandline.errors import UsageError
from commandline.options import names_cluster
from resourceapi.errors import Unanswerable

if TYPE_CHECKING:
    from commandline.parser import Parser
    from documents.document import Document

NAMES = (".claimcheck.yaml", ".claimcheck.yml")
#: The options that can be set, by their long names.
SETTINGS = (
    "kube-version",
    "feature-gates",
    "runtime-config",
    "namespace-labels",
    "inventory",
    "exclude",
    "create",
    "server-side",
    "disable",
    "severity",
    "no-lint",
    "notes",
    "show-all",
    "quiet",
    "warnings-as-errors",
    "fail-on-empty",
)
#: Those of them with values such as `A=true,B=false`, which can be written as mappings.
PAIRS = frozenset(("feature-gates", "runtime-config", "severity"))
#: Those that a live cluster answers itself.
_OF_CLUSTER = frozenset(("kube-version", "runtime-config", "inventory"))
MAX_BYTES = 100_000


class Setting:
    """What the file says about an option.

    :param place: file and line.
    """

    __slots__ = ("place", "value")

    def __init__(self, place: str, value: Any) -> None:
        self.place = place
        self.value = value


class ConfigFile:
    """The settings of a file in a directory, by the long names of options."""

    __slots__ = ("directory", "settings")

    def __init__(self, directory: str, settings: Mapping[str, Setting]) -> None:
        self.directory = directory
        self.settings = settings


def settle(options: Namespace, parser: Parser) -> None:
    """Fill in what the command line does not say: from the file, or else the defaults.

    :raises UsageError: if there is something wrong with the file.
    """
    config = _config(options, parser)
    options.exclude_base = os.curdir
    options.configured = {}
    for action in parser.configurable:
        if hasattr(options, action.dest):
            continue
        name = action.option_strings[-1].removeprefix("--")
        setting = config.settings.get(name) if _counts(name, options) else None
        if setting is None or _is_nothing_to_convert(setting, action):
            setattr(options, action.dest, action.default)
            continue
        setattr(options, action.dest, _value(setting, action, config))
        options.configured[f"--{name}"] = setting.place
        if name == "exclude":
            options.exclude_base = config.directory


def located(error: Unanswerable, options: Namespace) -> Unanswerable:
    """The error, with the place in the file if it is about an option that is set there."""
    option = str(error).partition(" ")[0].removesuffix(":")
    place = getattr(options, "configured", {}).get(option)
    return error if place is None else UsageError(f"{error} ({place})", error.hint)


def find(directory: str) -> str | None:
    """The file in a directory or the nearest one above it, up to the top of its repository; or None."""
    while True:
        for name in NAMES:
            file = os.path.join(directory, name)
            if os.path.isfile(file):
                return file
        above = os.path.dirname(directory)
        if above == directory or os.path.exists(os.path.join(directory, ".git")):
            return None
        directory = above


def read(file: str, options: Container[str] = ()) -> ConfigFile:
    """Read a file.

    :param options: the options that the command line has.
    :raises UsageError: with file and line, if it cannot be read, or says what cannot be set.
    """
    from documents import DocumentError, parse
    from documents.parsing import NOT_AN_OBJECT
    from documents.source import read_file

    try:
        content = read_file(file)
        if len(content) > MAX_BYTES:
            raise DocumentError(file, 0, 0, f"larger than {MAX_BYTES:,} bytes")
        found = list(parse(content, file))
        for document in found:
            if isinstance(document, DocumentError):
                if document.message.startswith(NOT_AN_OBJECT):
                    document.message = "expected a mapping of options"
                raise document
    except DocumentError as error:
        hint = f" ({error.hint})" if error.hint else ""
        raise UsageError(f"{error}{hint}") from None
    if len(found) > 1:
        raise UsageError(f"{file}: expected one document, found {len(found)}")
    settings: dict[str, Setting] = {}
    for document in found:
        assert not isinstance(document, DocumentError)
        settings = dict(_settings(document, options))
    return ConfigFile(os.path.dirname(file) or os.curdir, settings)


def _config(options: Namespace, parser: Parser) -> ConfigFile:
    if options.no_config:
        if options.config:
            raise UsageError("--config and --no-config: use only one of them")
        return ConfigFile(os.curdir, {})
    file = options.config
    if not file:
        try:
            file = find(os.getcwd())
        except OSError:  # the working directory is gone
            file = None
        if file is None:
            return ConfigFile(os.curdir, {})
        file = os.path.relpath(file)
    return read(file, parser.option_names())


def _counts(name: str, options: Namespace) -> bool:
    """Whether a setting counts: a live cluster knows better which release it is and what is in it."""
    return name not in _OF_CLUSTER or not names_cluster(options)


def _settings(document: Document, options: Container[str]) -> Iterable[tuple[str, Setting]]:
    if document.has_repeated_keys:
        for path, _, again in document.locate_repeated_keys():
            raise UsageError(f"{document.file}:{again.line}: {'.'.join(map(str, path))} is set twice")
    for name, value in document.value.items():
        place = f"{document.file}:{document.locate_key((name,)).line}"
        if name not in SETTINGS:
            raise UsageError(f"{place}: {_refusal(name, options)}")
        if not isinstance(value, (bool, str, list, dict)) and value is not None:
            value = document.written((name,))  # 1.30 is no number
        yield name, Setting(place, value)


def _refusal(name: str, options: Container[str]) -> str:
    """Why a key is not accepted."""
    from resourceapi.phrases import nearest

    bare = name.removeprefix("--")
    if meant := bare if bare in SETTINGS else nearest(bare, SETTINGS):
        return f"unknown option {name}; did you mean {meant}?"
    if f"--{name}" in options:
        return f"{name} cannot be set in this file, only on the command line"
    return f"unknown option {name}; known are {', '.join(SETTINGS)}"


def _value(setting: Setting, action: Action, config: ConfigFile) -> Any:
    """The value as the command line would have it.

    :raises UsageError: for a value of another type.
    """
    name, value = action.option_strings[-1].removeprefix("--"), setting.value
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise UsageError(f"{setting.place}: {name}: expected true or false")
        return value
    if name in PAIRS and isinstance(value, dict):
        value = ",".join(f"{key}={str(on).lower()}" for key, on in value.items())
    if not isinstance(action.default, list):
        if not isinstance(value, str):
            raise UsageError(f"{setting.place}: {name}: expected one value")
        return _typed(value, action, f"{setting.place}: {name}")
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(each, str) for each in values):
        raise UsageError(f"{setting.place}: {name}: expected a text, or a list of texts")
    if name == "inventory":
        return [_below(config.directory, each, setting.place) for each in values]
    return values


def _typed(value: str, action: Action, place: str) -> Any:
    """A value as the option's type, one of its choices if it has any.

    :raises UsageError: if it is not.
    """
    typed: Any = value
    if callable(action.type):
        try:
            typed = action.type(value)
        except (ArgumentTypeError, TypeError, ValueError):
            raise UsageError(f"{place}: {value} is no value of this option") from None
    if action.choices is not None and typed not in action.choices:
        raise UsageError(f"{place}: expected one of {', '.join(map(str, action.choices))}, not {value}")
    return typed


def _is_nothing_to_convert(setting: Setting, action: Action) -> bool:
    """Whether the setting is a release: of these, `convert` has but the one with proposals.

    :raises UsageError: for a release that does not exist.
    """
    if action.dest != "kube_version" or action.choices is None or not isinstance(setting.value, str):
        return False
    from resourceapi.releases import Profile, UnknownRelease

    try:
        return Profile(setting.value).name not in action.choices
    except UnknownRelease as error:
        raise UsageError(f"{setting.place}: kube-version: {error}") from None


def _below(directory: str, path: str, place: str) -> str:
    """A path below a directory.

    :raises UsageError: if it leads elsewhere, also by symbolic links.
    """
    from documents.finding import is_below, leads_to_hidden

    joined = os.path.join(directory, path)
    if not is_below(directory, joined):
        raise UsageError(f"{place}: inventory: {path} is not below {directory}")
    if leads_to_hidden(directory, joined):  # .git/config may hold credentials
        raise UsageError(f"{place}: inventory: {path} is hidden")
    if os.path.exists(joined) and not (os.path.isfile(joined) or os.path.isdir(joined)):
        raise UsageError(f"{place}: inventory: {path} is neither a file nor a directory")
    return os.path.normpath(joined)
