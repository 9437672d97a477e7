"""Programs that write objects in a version of the API which later releases do not serve."""

from __future__ import annotations

from collections.abc import Iterator

from claimcheck.answers.doctor.checks import DEPRECATED_VERSION
from claimcheck.answers.doctor.examined import Affected, Diagnosis, Examined
from resourceapi.kinds import KINDS


def check(examined: Examined) -> Iterator[Diagnosis]:
    """The objects that a program has written in such a version, by program, version and kind."""
    for writer, names in sorted(examined.state.deprecated_writes.items()):
        kind = KINDS[writer.kind]
        lifecycle = kind.lifecycle(writer.version)
        objects = [Affected(kind.name, namespace, name) for namespace, name in names]
        objects = [each for each in objects if not kind.namespaced or examined.looks_at(each.namespace)]
        if objects and lifecycle is not None:
            yield Diagnosis(
                DEPRECATED_VERSION,
                f"written by {writer.manager} in {writer.version}, which Kubernetes 1.{lifecycle.removed} does not serve any more",
                objects,
                f"update {writer.manager} to a release that uses {next(iter(kind.versions))}",
            )
