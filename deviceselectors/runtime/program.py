"""Programs: type-checked expressions that can be evaluated on devices."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any

from deviceselectors.ast import Node
from deviceselectors.compiler import CHARACTER_BYTES, MOST_BYTES
from deviceselectors.environment import Environment
from deviceselectors.libraries.semver import Semver
from deviceselectors.lookups import required_driver
from deviceselectors.runtime import effort
from deviceselectors.runtime.closures import CostExceededError
from deviceselectors.runtime.device import Device
from deviceselectors.runtime.evaluator import Evaluator
from deviceselectors.runtime.planning import Plan, ProgramError
from deviceselectors.runtime.values import (
    LIST_CLASSES,
    MESSAGE,
    MISSING,
    NATIVE_NAMES,
    CelError,
    CelPanic,
    ConcatList,
    DomainMap,
    Duration,
    EntryMap,
    GeneralMap,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
    as_list,
    conversion_error,
    type_name,
    with_hint,
)
from resourceapi.caches import WeighedCache
from resourceapi.quantity import Quantity

if TYPE_CHECKING:
    from deviceselectors.compiler import Compiled


# What becomes of an evaluation's value: a match for a selector, an attribute for a derived attribute.
# Selectors whose static type is that of attributes may give anything at run time; what is no bool has an
# error text of its own per type. Source: k8s.io/dynamic-resource-allocation 0.37, cel-go 0.29.

_NATIVE_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int64",
    Uint: "uint64",
    float: "float64",
    str: "string",
    bytes: "[]uint8",
    type(None): "structpb.NullValue",
    TypeValue: "string",
    Duration: "time.Duration",
    Timestamp: "time.Time",
    GeneralMap: "map[ref.Val]ref.Val",
    dict: "map[ref.Val]ref.Val",
    **dict.fromkeys((DomainMap, EntryMap), "map[string]interface {}"),
    **dict.fromkeys(LIST_CLASSES, "[]ref.Val"),
    ConcatList: "[]interface {}",
}


def as_match(value: Any) -> bool:
    """Whether a selector's value is a match.

    :raises CelError: when it is no bool
    """
    if value is True or value is False:
        return value
    return _unwrap_match(value, type_name(value))


def _unwrap_match(value: Any, name: str) -> bool:
    reason = conversion_error(value, "bool")
    if value.__class__ is Optional:
        if value.value is True or value.value is False:
            return value.value
        if value.value is not MISSING:
            return _unwrap_match(value.value, name)
        reason = "optional.none() dereference"
    raise CelError(f"CEL result of type {name} could not be converted to bool: {reason}")


def as_attribute(value: Any) -> dict[str, Any]:
    """The attribute of a derived attribute's value, as `resource.k8s.io/v1` JSON; an empty list gives `{}`.

    :raises CelError: when it is no attribute value
    """
    single = _unwrap(value)
    key = _attribute_key(single)
    if key:
        return {key: _plain(single)}
    if value.__class__ not in LIST_CLASSES:  # a list in an optional is none
        raise CelError(f"unsupported CEL return type: {_native_name(single)}")
    elements = [_unwrap(element) for element in as_list(value)]
    if not elements:
        return {}
    key = _attribute_key(elements[0])
    if not key:
        raise CelError(f"unsupported list element type: {_native_name(elements[0])}")
    for index, element in enumerate(elements):
        if _attribute_key(element) != key:
            name = "semver" if key == "version" else key
            raise CelError(
                f"expected list element at index {index} to be {name}, got {_native_name(element)}"
            )
    return {key + "s": [_plain(element) for element in elements]}


def _unwrap(value: Any) -> Any:
    while value.__class__ is Optional:
        value = value.value
    return value


def _attribute_key(value: Any) -> str:
    cls = value.__class__
    if cls is TypeValue:
        return "string"
    return {bool: "bool", int: "int", str: "string", Semver: "version"}.get(cls, "")


def _plain(value: Any) -> Any:
    if value.__class__ is TypeValue:
        return value.name
    return str(value) if value.__class__ is Semver else value


def _native_name(value: Any) -> str:
    """The Go type behind a value. Lists of one Go type (`[]string`) and `Struct` messages are not told from others."""
    if value is MISSING:
        return "<nil>"
    if value.__class__ is EntryMap and any(entry.__class__ is Quantity for entry in value.values()):
        return "map[string]cel.Quantity"
    if value.__class__ is dict and value.get("attributes").__class__ is DomainMap:  # the device itself
        return _NATIVE_NAMES[DomainMap]
    return _NATIVE_NAMES.get(value.__class__) or NATIVE_NAMES.get(value.__class__, MESSAGE)


COST_LIMIT = 1_000_000
_LIMIT_ERROR = "operation cancelled: actual cost limit exceeded"


#: The evaluation on a device failed; printed it is kube-scheduler's text.
EvaluationError = CelError


class Result:
    """The outcome of an evaluation: a value, or the error's text; `cost` is None if evaluation did not begin."""

    __slots__ = ("cost", "error", "value")

    def __init__(self, value: Any, error: str | None, cost: int | None) -> None:
        self.value = value
        self.error = error
        self.cost = cost


class Program:
    """An expression that can be evaluated on any number of devices, from any number of threads.

    It is compiled on first use: by `evaluate` to closures that count what kube-scheduler counts; by `matches` and
    `attribute` to closures that do not, where the cost cannot reach its limit.
    """

    __slots__ = ("_bound", "_cost_limit", "_counting", "_finish", "_plan", "_quick")

    def __init__(self, root: Node, *, derived: bool = False, cost_limit: int = COST_LIMIT) -> None:
        """`root` has passed the type checker; `derived` tells the expression of a derived attribute from a selector.

        :raises ProgramError: with kube-apiserver's text
        """
        self._plan = Plan(root)
        self._cost_limit = cost_limit
        self._finish: Callable[[Any], Any] = as_attribute if derived else as_match
        self._bound: float | None = None
        self._counting: Evaluator | None = None
        #: the evaluator that does not count; None before it is needed
        self._quick: Evaluator | None = None

    @property
    def required_driver(self) -> str:
        """See :func:`deviceselectors.lookups.required_driver`."""
        return required_driver(self._plan.root)

    def prepare(self, device: Device) -> None:
        """Compile now what `matches` needs on such a device, which takes time once."""
        if not (device.plain and self._quick_one()):
            self._counting_one()

    def matches(self, device: Device) -> bool:
        """Whether a selector matches the device.

        :raises EvaluationError: if the evaluation fails
        """
        quick = self._quick or self._quick_one()
        if quick is None or not device.plain:
            return self._checked(device)  # type: ignore[no-any-return]
        value = quick.value(device)
        return value if value is True or value is False else as_match(value)

    def attribute(self, device: Device) -> dict[str, Any]:
        """The derived attribute of the device, as `resource.k8s.io/v1` JSON.

        :raises EvaluationError: if the evaluation fails, or gives no attribute value
        """
        quick = self._quick or self._quick_one()
        if quick is None or not device.plain:
            return self._checked(device)  # type: ignore[no-any-return]
        return as_attribute(quick.value(device))

    def _checked(self, device: Device) -> Any:
        if device.error is not None:
            raise CelError(device.error)
        result = self._counted(device)
        if result.error is not None:
            raise CelError(result.error)
        return result.value

    def _quick_one(self) -> Evaluator | None:
        """The evaluator that does not count, None where the cost may reach its limit."""
        if self._quick is None and self.cost_bound < self._cost_limit:
            effort.begin()
            self._quick = Evaluator(self._plan, counts=False)
        return self._quick

    def _counting_one(self) -> Evaluator:
        if self._counting is None:
            self._counting = Evaluator(self._plan)
        return self._counting

    @property
    def cost_bound(self) -> float:
        """What it costs at most on a device within the API's limits, infinite if that is not known."""
        if self._bound is None:
            from deviceselectors.runtime.bounds import cost_bound

            self._bound = cost_bound(self._plan)
        return self._bound

    def evaluate(self, device: Device) -> Result:
        """The value (a bool, or for a derived attribute the attribute) with the cost that kube-scheduler counts."""
        result = self._counted(device)
        if result.error is not None:
            result.error = with_hint(result.error)
        return result

    def _counted(self, device: Device) -> Result:
        """The same with CEL's text of an error."""
        effort.begin()
        if device.error is not None:
            return Result(None, device.error, None)
        try:
            value, cost = self._counting_one().counted(device, self._cost_limit)
        except CostExceededError as error:
            return Result(None, _LIMIT_ERROR, error.cost)
        except CelPanic as panic:
            return Result(None, panic.message, panic.cost)
        if value.__class__ is CelError:
            return Result(None, value.message, cost)
        try:
            return Result(self._finish(value), None, cost)
        except CelError as error:
            return Result(None, error.message, cost)


#: Longer expressions get a new program each time.
_MAX_CACHED_LENGTH = 4096
_cache: WeighedCache[tuple[str, Environment, int], Program] = WeighedCache(MOST_BYTES)
_lock = Lock()


def program(compiled: Compiled, cost_limit: int = COST_LIMIT) -> Program:
    """The program of an expression that compiled without error; programs are cached, by expression, environment and limit."""
    if compiled.ast is None:
        raise ValueError(f"the expression does not compile: {compiled.error}")
    key = (compiled.expression, compiled.environment, cost_limit)
    with _lock:
        found = _cache.use(key)
        if found is not None:
            return found
    made = Program(compiled.ast, derived=compiled.environment.derived, cost_limit=cost_limit)
    if len(compiled.expression) <= _MAX_CACHED_LENGTH:
        with _lock:
            _cache.put(key, made, CHARACTER_BYTES * len(compiled.expression))
    return made


__all__ = ["COST_LIMIT", "EvaluationError", "Program", "ProgramError", "Result", "program"]
