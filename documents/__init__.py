"""Reads users' files: arguments to Kubernetes objects as kubectl would send them, with positions.

for found in documents.load(["manifests/", "claim.yaml", "-"]):
    if isinstance(found, documents.DocumentError):
        print(found, found.hint)            # found.file, .line, .column, .message, .hint
    else:
        found.value                         # the object: plain dict, list, str, int, float, bool, None
        found.locate(("spec", "devices"))   # Place(line, column, length) in found.file
"""

from __future__ import annotations

from documents.document import Document
from documents.errors import DocumentError
from documents.loading import load
from documents.parsing import parse
from documents.source import Path, Source
from documents.tree import RepeatedKeys

__all__ = ["Document", "DocumentError", "Path", "RepeatedKeys", "Source", "load", "parse"]
