"""A user's configuration in place of an overlay's, but for what follows from the other manifests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from commandline.errors import UsageError
from commandline.reports.escaping import complain
from resourceapi.objects import Object

if TYPE_CHECKING:
    from serving.config_file import Config


class Deployed(NamedTuple):
    """How a service's configuration is deployed.

    :param file: its name in the ConfigMap.
    :param fixed: settings that follow from the other manifests.
    :param fixed_lines: how many lines they take, which are the first ones of the overlay's configuration.
    :param load: reads a configuration as the service does.
    """

    file: str
    fixed: tuple[str, ...]
    fixed_lines: int
    load: Callable[[str], Config]


def put_config(config_map: Object, given: str, deployed: Deployed) -> Config:
    """Replace the configuration in a ConfigMap, but for what is fixed.

    :param given: the file with the user's.
    :returns: the configuration as it is deployed, with the places of the user's file.
    :raises UsageError: if it cannot be used; its errors are printed before.
    """
    overlay = config_map["data"][deployed.file]
    fixed = overlay.splitlines()[: deployed.fixed_lines]
    # at the end, and without moving what is there, so that errors have the line numbers of the file
    lines = _lines_without_fixed(given, deployed.fixed)
    merged = "\n".join([*(line or "" for line in lines), *fixed, ""])
    config = _checked(merged, given, deployed)
    wanted = _checked(overlay, deployed.file, deployed).get("apiServer", "serves")
    if config.get("apiServer", "serves") != wanted:
        raise UsageError(f"manifests: --config {given}: apiServer.serves must be {wanted} in this mode")
    own = "\n".join(line for line in lines if line is not None).rstrip()
    config_map["data"][deployed.file] = "\n".join([own, *fixed, ""])
    return config


def _lines_without_fixed(file: str, fixed: tuple[str, ...]) -> list[str | None]:
    """The lines of a configuration; None for those about what is fixed, which are for outside of a cluster.

    :raises UsageError: if the file cannot be read, or if these share lines with other settings.
    """
    from documents import load
    from documents.document import Document

    try:
        lines: list[str | None] = [*Path(file).read_text("utf-8").rstrip().splitlines()]
    except OSError as error:
        raise UsageError(f"manifests: --config {file}: {(error.strerror or str(error)).lower()}") from None
    except ValueError:
        raise UsageError(f"manifests: --config {file}: not valid UTF-8") from None
    for document in load([file]):
        if not isinstance(document, Document):
            continue  # an error that is reported with all others
        keys = {key: document.locate_key((key,)) for key in document.value}
        begins = [place.line for place in keys.values()]
        for name in fixed:
            if name not in keys:
                continue
            place = keys[name]
            if place.column > 1 or begins.count(place.line) > 1:
                raise UsageError(
                    f"manifests: --config {file}:{place.line}:{place.column}: remove {name}, which the manifests set, "
                    "or write it on lines of its own"
                )
            end = min((line for line in begins if line > place.line), default=len(lines) + 1)
            while end - 1 > place.line and _is_comment(lines[end - 2]):
                end -= 1  # above the next setting, and about that
            lines[place.line - 1 : end - 1] = [None] * (end - place.line)
    return lines


def _is_comment(line: str | None) -> bool:
    return line is not None and (not line.strip() or line.startswith("#"))


def _checked(content: str, file: str, deployed: Deployed) -> Config:
    """Load a configuration as the service does."""
    from serving.config_file import ConfigError

    with TemporaryDirectory() as directory:
        path = Path(directory) / deployed.file
        path.write_text(content, "utf-8")
        try:
            return deployed.load(str(path))
        except ConfigError as error:
            for problem in error.problems:
                complain(str(problem).replace(str(path), file))
            raise UsageError(
                f"manifests: --config {file} is not a valid configuration ({_listed(deployed.fixed)} are set by the manifests)"
            ) from None


def _listed(names: tuple[str, ...]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}"
