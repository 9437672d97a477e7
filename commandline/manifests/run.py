"""Runs ``claimcheck manifests``: prints the manifests that deploy a component."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from commandline.errors import UsageError
from commandline.manifests.deployment import objects_of
from commandline.manifests.options import SCHEDULER
from resourceapi.objects import Object

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: Namespace) -> int:
    """Print the manifests.

    :raises UsageError: for options that do not fit together, or files that cannot be used.
    """
    objects = objects_of(options)
    if options.image is None and options.url is None:
        raise UsageError(
            "manifests: --image IMAGE is needed: one that your nodes can pull, such as registry.example.com/claimcheck:0.1.0"
        )
    if options.component == SCHEDULER and options.kube_scheduler_image is None:
        raise UsageError(
            "manifests: --kube-scheduler-image IMAGE is needed: kube-scheduler of your cluster's release"
        )
    if options.output == "json":
        print(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}, indent=2))
    else:
        print(_as_yaml(objects), end="")
    return 0


def _as_yaml(objects: list[Object]) -> str:
    """YAML documents, in which strings of several lines are block scalars."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """A class of its own, as representers are added to the class."""

        def ignore_aliases(self, data: object) -> bool:
            return True

    def represent(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, represent)
    written: str = yaml.dump_all(objects, Dumper=Dumper, sort_keys=False, width=110)
    return written
