"""The rules of kinds whose specs repeat, so that a spec that was accepted once need not be judged again."""

from __future__ import annotations

from typing import Any, ClassVar

from resourceapi.objects import Object
from validation.kind_rules import DeviceKindRules

# What the rules of a kind state.  For a new object the server calls only check_spec and the namespace rules: the other
# methods are for updates, and the other names are constants.
_STATED = frozenset(
    {
        "check_changed",
        "check_spec",
        "check_status",
        "declared_since",
        "keeps_generation",
        "kind",
        "least_spec",
        "name_origin",
        "namespace_rules",
        "tidy",
        "tidy_status",
        "unconditional",
    }
)
_ATTRIBUTE_ACCESS = ("__getattribute__", "__setattr__")


class CacheableKindRules(DeviceKindRules):
    """Rules that accept or refuse a new spec by itself, but for :attr:`namespace_rules`.

    A subclass cannot do otherwise: it may override only what the rules of a kind state, of which ``check_spec`` is given
    nothing but the spec, and its instances have no place to keep anything from one step to another.

    :cvar least_spec: a spec that the rules accept and that has no field that it could do without.
    """

    __slots__ = ()
    least_spec: ClassVar[Object]

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Refuse a class whose rules could depend on more than the spec.

        :raises TypeError: naming what it overrides or where it could keep values.
        """
        super().__init_subclass__(**arguments)
        if cls.__dictoffset__ or cls.__basicsize__ != CacheableKindRules.__basicsize__:
            raise TypeError(f"{cls.__name__} must keep nothing: it and its bases need __slots__ = ()")
        for name in _SEALED:
            if _attribute(cls, name) is not _attribute(CacheableKindRules, name):
                raise TypeError(f"{cls.__name__} must not override {name}: specs of its kind are cached")


def _attribute(cls: type, name: str) -> Any:
    """An attribute of a class as it was written: like inspect.getattr_static, but loading inspect takes 5 ms."""
    return next(vars(base)[name] for base in cls.__mro__ if name in vars(base))


_SEALED = sorted(
    {name for name in dir(CacheableKindRules) if not name.startswith(("__", "_abc"))} - _STATED
) + list(_ATTRIBUTE_ACCESS)
