"""Images in a kustomization, from what options say."""

from __future__ import annotations

import re

from commandline.errors import UsageError
from resourceapi.objects import Object


def image_entry(option: str, name: str, image: str) -> Object:
    """What replaces the image of a name.

    :param option: the option that the image is from.
    :raises UsageError: if it is no image.
    """
    repository, at, digest = image.partition("@")
    head, slash, last = repository.rpartition("/")
    base, colon, tag = last.partition(":")
    if not base or (colon and not tag) or re.search(r"\s", image):
        raise UsageError(f"manifests: {option} {image}: expected NAME[:TAG|@DIGEST]")
    if at:
        return {"name": name, "newName": repository, "digest": digest}
    return {"name": name, "newName": head + slash + base, "newTag": tag or "latest"}
