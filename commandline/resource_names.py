"""Objects that are named as for kubectl: ``pod/NAME``, ``deploy/NAME``, ``resourceclaim NAME``."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from commandline.errors import UsageError
from resourceapi.kinds import CLAIM, CLAIM_TEMPLATE
from resourceapi.model import workloads
from resourceapi.names import is_dots

_SHORT_NAMES = {
    "po": "Pod",
    "rc": "ReplicationController",
    "deploy": "Deployment",
    "sts": "StatefulSet",
    "ds": "DaemonSet",
    "rs": "ReplicaSet",
    "cj": "CronJob",
}
_RESOURCES = {CLAIM.name: CLAIM.resource, CLAIM_TEMPLATE.name: CLAIM_TEMPLATE.resource, **workloads.RESOURCES}
# TYPE/NAME that is no path of a manifest.
_SIMPLE = re.compile(r"[A-Za-z.]+/(?!.*\.(?:ya?ml|json)$)[a-z0-9.-]+")
# What looks like the name of an object or a type, and not like that of a manifest.
_NAME = re.compile(r"(?!.*\.(?:ya?ml|json)$)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_KINDS = {
    **_SHORT_NAMES,
    **{kind.lower(): kind for kind in _RESOURCES},
    **{resource: kind for kind, resource in _RESOURCES.items()},
}


class ObjectName(NamedTuple):
    """An object as a user names it."""

    kind: str
    name: str

    @classmethod
    def checked(cls, kind: str, name: str) -> ObjectName:
        """Make one.

        :raises UsageError: for a name that no object has.
        """
        if is_dots(name):
            raise UsageError(f"invalid resource name \"{name}\": [may not be '{name}']")
        return cls(kind, name)

    def __str__(self) -> str:
        return f"{self.kind.lower()}/{self.name}"


def kind_of(word: str) -> str:
    """The kind that requests devices by one of its names, with its group or without; empty for none."""
    return _KINDS.get(word.lower().partition(".")[0], "")


def _not_a_file(word: str) -> str:
    """What to write instead of a word that is no file, but a type or a name."""
    if kind_of(word):
        return f"which one? Name objects as {word}/NAME, or as {word} NAME…; there is no file {word}"
    return f"no such file or directory; did you mean pod/{word}?"


def names_and_files(arguments: Sequence[str]) -> tuple[list[ObjectName], list[str]]:
    """Arguments apart: objects (``TYPE/NAME``, or a type and names), and files. What is there as a file is one.

    :raises UsageError: for an object of another type, a name that no object has, or a name or type alone.
    """
    if len(arguments) > 1 and kind_of(arguments[0]) and not any(map(os.path.exists, arguments)):
        kind = kind_of(arguments[0])
        if not any("/" in argument for argument in arguments):
            return [ObjectName.checked(kind, name) for name in arguments[1:]], []
    names, files = [], []
    for argument in arguments:
        type_name, slash, name = argument.partition("/")
        if slash and name and "/" not in name and kind_of(type_name) and not os.path.exists(argument):
            names.append(ObjectName.checked(kind_of(type_name), name))
        elif slash and not os.path.exists(type_name) and _SIMPLE.fullmatch(argument):
            raise UsageError(
                f"{argument}: neither a file nor an object such as pod/NAME; the types are pod, the workloads "
                "(deployment, job, …), resourceclaim and resourceclaimtemplate"
            )
        elif _NAME.fullmatch(argument) and not os.path.exists(argument):
            raise UsageError(f"{argument}: {_not_a_file(argument)}")
        else:
            files.append(argument)
    return names, files
