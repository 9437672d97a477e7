"""What the macros with two variables become: `transformMap` and `transformMapEntry` add entries to a map."""

from __future__ import annotations

from deviceselectors.libraries.function import Function, Overload
from deviceselectors.libraries.max_sizes import MaxSize, concatenated, union
from deviceselectors.runtime import operators


def _inserted(sizes: list[MaxSize]) -> MaxSize:
    """A map with another map, or with a key and a value."""
    return concatenated(sizes) if len(sizes) == 2 else MaxSize(sizes[0].count + 1, union(sizes[1:]))


FUNCTIONS = (
    Function(
        "cel.@mapInsert",
        Overload("@mapInsert_map_key_value map(K, V); K; V > map(K, V)", operators.insert),
        Overload("@mapInsert_map_map map(K, V); map(K, V) > map(K, V)", operators.insert_all),
        paid_after=True,
        result_size=_inserted,
    ),
)
