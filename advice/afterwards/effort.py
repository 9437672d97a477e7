"""How much has been done to foretell mistakes: counted in what was looked at, so that it is the same on every machine."""

from __future__ import annotations

# Even the review of a small object takes about as long as looking at so many values.
_REVIEW = 50


class Effort:
    """The effort for one object, or for all of a run.

    :ivar values: how many values were looked at.
    """

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values = 0

    def add_review(self, size: int) -> None:
        """Count the review of an object of this size."""
        self.values += _REVIEW + size

    def add_search(self, mistakes: int, size: int) -> None:
        """Count the search for what is meant by some mistakes in an object of this size."""
        self.values += mistakes * size
