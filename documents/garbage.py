"""Building a large tree without the garbage collector looking through it over and over."""

from __future__ import annotations

import gc

LARGE_TEXT = 50_000
"""Texts of at least so many code points are read with the collector off; for shorter ones it rarely runs."""


class CollectorPaused:
    """`with CollectorPaused(size):` keeps the cyclic collector off while a text of that size is read.

    A tree of 500,000 nodes is read three to ten times faster so; nothing that is built has cycles.
    """

    __slots__ = ("_resume",)

    def __init__(self, size: int) -> None:
        self._resume = size > LARGE_TEXT and gc.isenabled()

    def __enter__(self) -> None:
        if self._resume:
            gc.disable()

    def __exit__(self, *exception: object) -> None:
        if self._resume:
            gc.enable()
